import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { BackendError, RefusedError } from '../../src/core/errors.ts';
import { encodeSegment } from '../../src/core/format/segment.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { sha256 } from '../../src/core/crypto/sha256.ts';
import { readSegment } from '../../src/core/repository/manifests.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import { filesIn } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { plainPlace } from '../support/plain-place.ts';

let backend: MemoryBackend;
let source: string;

beforeEach(async () => {
  backend = new MemoryBackend();
  await initRepository({ backend });
  source = join(memoryDirectory(), 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'file'), 'content');
});

async function save(): Promise<string> {
  return (await backup({ backend }, { sources: [source], cwd: '/' })).snapshotId!;
}

function namesIn(directory: string): string[] {
  return filesIn(backend, directory);
}

async function expectClean(): Promise<void> {
  expect((await check({ backend }, { readData: true })).findings).toEqual([]);
}

describe('a compaction that has nothing to reclaim', () => {
  test('leaves no checkpoint to which a snapshot that was deleted looks lost', async () => {
    const [first] = [await save(), await save()];
    await deleteSnapshots({ backend }, { selectors: [first], reclaim: false });
    // A checkpoint that knows of the delete, behind one that does not.
    const repository = await Repository.open({ backend, mode: 'shared' });
    await repository.writeCheckpoint((await repository.openState()).state);
    await repository.close();
    expect((await compact({ backend })).packsRemoved).toBe(0);
    expect(namesIn('deleted')).toEqual([]);
    await backend.remove(namesIn('filter').at(-1)!);
    await expectClean();
    await compact({ backend });
  });
});

describe('a compaction that dies after it gave space back', () => {
  test('leaves no snapshot to undelete whose chunks are gone', async () => {
    const id = await save();
    await deleteSnapshots({ backend }, { selectors: [id], reclaim: false });
    const isManifest = (operation: string, name: string): boolean =>
      operation === 'remove' && name.startsWith('deleted/');
    const dying = new FaultyBackend(backend, { failAt: 1, mode: 'crash', only: isManifest });
    await expect(compact(simulatedProcess(dying))).rejects.toThrow('simulated crash');
    expect(namesIn('deleted')).toEqual([`deleted/${id}`]);
    expect(namesIn('packs')).toEqual([]);
    await expect(undeleteSnapshots({ backend }, { selectors: [id] })).rejects.toBeInstanceOf(RefusedError);
    await expectClean();
    await compact({ backend });
    expect(namesIn('deleted')).toEqual([]);
  });
});

describe('a segment that names packs which are gone', () => {
  test('goes with the next compaction; the other packs that it names stay named', async () => {
    await save();
    const [name] = namesIn('index');
    const packs = await readSegment(plainPlace(backend), name!.slice('index/'.length));
    const absent = { ...packs[0]!, id: 'ab'.repeat(32) };
    const bytes = encodeSegment([...packs, absent], Buffer.alloc(16));
    await backend.remove(name!);
    backend.poke(`index/${sha256(bytes)}`, bytes);
    await compact({ backend });
    const left = await Promise.all(namesIn('index').map(async (one) => readSegment(plainPlace(backend), one.slice(6))));
    expect(
      left
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(packs.map(({ id }) => id).sort());
    await expectClean();
  });

  test('is not left by a backup that could not make its name durable: its packs stay as well', async () => {
    const isIndex = (operation: string, name: string): boolean => operation === 'syncDirectory' && name === 'index';
    const faulty = new FaultyBackend(backend, { failAt: 1, only: isIndex });
    await expect(backup({ backend: faulty }, { sources: [source], cwd: '/' })).rejects.toBeInstanceOf(BackendError);
    faulty.assertFired();
    await expectClean();
    await save();
    await expectClean();
  });
});

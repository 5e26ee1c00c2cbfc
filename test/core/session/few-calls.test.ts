import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { backup } from '../../../src/verbs/backup/backup.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { readPackContents } from '../../../src/core/store/pack-reader.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { plainPlace } from '../../support/plain-place.ts';

// In a remote place each call takes tens of milliseconds.

const MIB = 1024 * 1024;

/** Counts calls as a place would that answers each of them by one request. */
class CountingBackend extends FaultyBackend {
  readonly calls: string[] = [];

  override async sizesOf(names: readonly string[]): Promise<Map<string, number>> {
    this.calls.push('sizesOf');
    return await super.sizesOf(names);
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    this.calls.push(`readRange ${name}`);
    await super.readRange(name, offset, target);
  }

  packCalls(): string[] {
    return this.calls.filter((call) => call.startsWith('readRange packs/'));
  }
}

/** Compressible files, small and large, and incompressible ones. */
async function makeRepository(): Promise<{ readonly repository: TestRepository; readonly counting: CountingBackend }> {
  const repository = await makeTestRepository();
  const prng = createPrng(5);
  for (let index = 0; index < 60; index += 1) {
    const text = prng.bytes(75_000).toString('hex');
    writeFileSync(join(repository.source, `small-${index}`), text);
  }
  for (let index = 0; index < 4; index += 1) {
    writeFileSync(join(repository.source, `text-${index}`), prng.bytes(2.5 * MIB).toString('hex'));
    writeFileSync(join(repository.source, `noise-${index}`), prng.bytes(4 * MIB));
  }
  await repository.backup();
  return { repository, counting: new CountingBackend(repository.context.backend) };
}

test('a block is mostly one call, the packs of an unchanged backup one, a sound pack of a check one', async () => {
  const { repository, counting } = await makeRepository();
  const { context, directory, source } = repository;
  let blockCount = 0;
  const packs = await context.backend.list('packs');
  for (const { name } of packs) {
    blockCount += (await readPackContents(plainPlace(context.backend), name.slice('packs/ab/'.length))).blocks.length;
  }
  expect(blockCount).toBeGreaterThan(15);

  await restore({ ...context, backend: counting }, { selector: 'latest', target: join(directory, 'restored') });
  expect(counting.packCalls().length).toBeGreaterThan(blockCount / 2);
  expect(counting.packCalls().length).toBeLessThanOrEqual(blockCount + 3);

  const saving = new CountingBackend(context.backend);
  await backup({ ...context, backend: saving }, { sources: [source], cwd: directory });
  // Right before the commit. After it, the lock alone counts.
  expect(saving.calls.filter((call) => call === 'sizesOf')).toHaveLength(1);

  const checking = new FaultyBackend(context.backend, { only: (_, name) => name.startsWith('packs/') });
  await check({ ...context, backend: checking });
  expect(checking.operations.filter(({ operation }) => operation === 'sizeOf')).toEqual([]);
});

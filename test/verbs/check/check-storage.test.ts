import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { fileOf } from '../../../src/console/reports/finding-text.ts';
import { CorruptDataError, RepositoryLockedError, UsageError } from '../../../src/core/errors.ts';
import { encodeChecked } from '../../../src/core/format/json-reader.ts';
import { baseName } from '../../../src/core/format/layout.ts';
import { checkStorage } from '../../../src/verbs/check/check-storage.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { addRepositoryKey } from '../../../src/verbs/key/keys.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { backupWork } from '../../support/crash-stage.ts';
import { filesIn, flip, unreadable } from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { copyToDirectory } from '../../support/memory-copy.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { TEST_PASSWORD, testPassword } from '../../support/test-password.ts';
import { inSoak } from '../../support/soak.ts';

/** In the suite, both hashes and both kinds of encryption, but not each with each. */
const KINDS = [
  { packHash: 'blake3', encryption: 'always' },
  { packHash: 'sha256', encryption: 'never' },
  ...inSoak(
    [
      { packHash: 'sha256', encryption: 'always' },
      { packHash: 'blake3', encryption: 'never' },
    ] as const,
    [],
  ),
] as const;

function owner(backend: MemoryBackend): OperationContext {
  return { ...simulatedProcess(backend), password: TEST_PASSWORD };
}

/** Whoever only stores the repository: the password is never read. */
function stranger(backend: MemoryBackend | FaultyBackend): OperationContext {
  const read = async (): Promise<Uint8Array> => expect.fail('the password was read');
  return { ...simulatedProcess(backend), password: { isConfigured: true, read, readNew: read } };
}

/** A repository that has a file of every kind. */
async function makeDisk(kind: (typeof KINDS)[number]): Promise<MemoryBackend> {
  const disk = new MemoryBackend();
  const directory = memoryDirectory();
  await initRepository(owner(disk), { ...kind, capacity: 64 });
  if (kind.encryption === 'always') await addRepositoryKey(owner(disk), { newPassword: testPassword('another') });
  const prng = createPrng(1);
  for (let count = 0; count < 3; count += 1) {
    writeFileSync(join(directory, `file-${count}`), prng.bytes(20_000));
    await backupWork(owner(disk), directory);
  }
  await deleteSnapshots(owner(disk), { selectors: ['latest'], reclaim: false });
  await withRepository(owner(disk), 'exclusive', async ({ order, assertLocked }) => {
    const condemned = { segmentIds: [], packIds: ['ab'.repeat(32)], damagedIds: [] };
    await order.condemn(await order.prepareCondemnation(condemned), assertLocked);
  });
  return disk;
}

const UNVERIFIED = /^(reserve$|locks\/|tmp\/|quarantine\/)/;

describe.each(KINDS)('a repository with %o', (kind) => {
  const isEncrypted = kind.encryption === 'always';

  test('is verified without a password, and nothing but the lock is written', async () => {
    const disk = await makeDisk(kind);
    const watched = new FaultyBackend(disk);
    const result = await checkStorage(stranger(watched));
    const names = disk.names().filter((name) => !UNVERIFIED.test(name));
    const sizes = names.filter((name) => !name.startsWith('config')).map((name) => disk.peek(name)!.length);
    expect(result).toEqual({
      findings: [],
      isEncrypted,
      filesChecked: names.length,
      packsChecked: filesIn(disk, 'packs').length,
      bytesRead: sizes.reduce((total, size) => total + size, 0),
      foreignNames: [],
      checkpointsUnverified: isEncrypted ? filesIn(disk, 'filter').length : 0,
    });
    expect(new Set(names.map((name) => name.split('/')[0]!)).size).toBe(isEncrypted ? 10 : 9);
    const changes = watched.operations.filter(({ operation }) => /create|rename|remove|append/.test(operation));
    expect(changes.filter(({ name }) => !name.startsWith('locks/'))).toEqual([]);
  });

  test('any changed bit of any file is found, and the file named', async () => {
    const disk = await makeDisk(kind);
    for (const name of disk.names().filter((each) => !UNVERIFIED.test(each))) {
      const { length } = disk.peek(name)!;
      for (const offset of [0, Math.floor(length / 2), length - 1]) {
        const spoiled = disk.copy();
        await flip(spoiled, name, offset, 4).apply(spoiled);
        const { findings } = await checkStorage(stranger(spoiled));
        const isUnseen = isEncrypted && name.startsWith('filter/') && offset > 0;
        expect(findings.map(fileOf), `${name} at ${offset}`).toEqual(isUnseen ? [] : [name]);
        expect(findings.every(({ severity }) => severity === 'error')).toBe(true);
      }
    }
  });

  test('a file that is cut off, or that cannot be read, is found', async () => {
    const disk = await makeDisk(kind);
    const directories = ['packs', 'index', 'snapshots', ...(isEncrypted ? ['keys'] : ['filter'])];
    for (const name of directories.map((directory) => filesIn(disk, directory)[0]!)) {
      const cut = disk.copy();
      cut.poke(name, disk.peek(name)!.subarray(0, -1));
      expect((await checkStorage(stranger(cut))).findings.map(fileOf)).toEqual([name]);
      const failing = disk.copy();
      await unreadable(name, 0).apply(failing);
      const { findings } = await checkStorage(stranger(failing));
      expect(findings.map(fileOf)).toEqual([name]);
      expect(JSON.stringify(findings)).toContain('EIO');
    }
  });
});

test('what is not in its place is found: a pack in a wrong directory, a short checkpoint, a symlink to nothing', async () => {
  const disk = await makeDisk(KINDS[0]);
  const [pack] = filesIn(disk, 'packs');
  const [checkpoint] = filesIn(disk, 'filter');
  const wrong = `packs/${pack!.startsWith('packs/00') ? '01' : '00'}/${baseName(pack!)}`;
  disk.poke(wrong, disk.peek(pack!)!);
  await disk.remove(pack!);
  disk.poke(checkpoint!, disk.peek(checkpoint!)!.subarray(0, 10));
  const directory = memoryDirectory();
  copyToDirectory(disk, directory);
  const [segment] = filesIn(disk, 'index');
  renameSync(join(directory, segment!), join(directory, 'aside'));
  symlinkSync('nowhere', join(directory, segment!));
  const { findings } = await checkStorage({ ...stranger(disk), backend: new LocalBackend(directory) });
  expect(findings.map(fileOf)).toEqual([segment, checkpoint, wrong]);
});

test('parts of the packs are read, each pack in one of them', async () => {
  const disk = await makeDisk(KINDS[0]);
  const counts: number[] = [];
  for (let part = 1; part <= 3; part += 1) {
    counts.push((await checkStorage(stranger(disk), { readData: { part, of: 3 } })).packsChecked);
  }
  expect(counts[0]! + counts[1]! + counts[2]!).toBe(filesIn(disk, 'packs').length);
  await expect(checkStorage(stranger(disk), { readData: { part: 4, of: 3 } })).rejects.toThrow(UsageError);
});

test('copies of the configuration that are whole and differ are found, and those of two repositories refused', async () => {
  const disk = await makeDisk(KINDS[0]);
  const { checksum, ...config } = JSON.parse(disk.peek('config')!.toString()) as Record<string, unknown>;
  expect(checksum).toMatch(/^[0-9a-f]{64}$/);
  const other = disk.copy();
  other.poke('config.bak', encodeChecked({ ...config, sealed: 'AAAA' }));
  expect((await checkStorage(stranger(other))).findings).toMatchObject([
    { kind: 'config-damaged', name: 'config.bak' },
  ]);
  other.poke('config.bak', encodeChecked({ ...config, repository_id: 'cd'.repeat(32) }));
  await expect(checkStorage(stranger(other))).rejects.toThrow(CorruptDataError);
});

test('what other commands remove meanwhile is no damage, and an exclusive lock is waited for', async () => {
  const disk = await makeDisk(KINDS[0]);
  const busy = new FaultyBackend(disk);
  const [pack, snapshot] = [filesIn(disk, 'packs')[0]!, filesIn(disk, 'snapshots')[0]!];
  const list = busy.list.bind(busy);
  busy.list = async (directory) => {
    const files = await list(directory);
    for (const name of [pack, snapshot]) if (name.startsWith(directory)) await disk.remove(name);
    return files;
  };
  expect((await checkStorage(stranger(busy))).findings).toEqual([]);
  const lock = await RepositoryLock.acquire(disk, { mode: 'exclusive' });
  await expect(checkStorage({ ...stranger(disk), lockWaitMs: 0 })).rejects.toThrow(RepositoryLockedError);
  await lock.release();
});

test('a damaged key file is found by a check with the password, too', async () => {
  const disk = await makeDisk(KINDS[0]);
  const [name] = filesIn(disk, 'keys');
  await flip(disk, name!, 300).apply(disk);
  const { findings } = await check(owner(disk));
  expect(findings.filter(({ kind }) => kind === 'key-damaged').map(fileOf)).toEqual([name]);
  for (const other of filesIn(disk, 'keys').slice(1)) await flip(disk, other, 300).apply(disk);
  const password = { ...TEST_PASSWORD };
  await expect(check({ ...owner(disk), password })).rejects.toThrow(
    /^the repository is encrypted, but no key file can/,
  );
});

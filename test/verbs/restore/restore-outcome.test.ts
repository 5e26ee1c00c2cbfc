import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { exitCodeOfRestore } from '../../../src/verbs/restore/report.ts';
import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import { nativeCalls } from '../../../src/core/files/native/native.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { createTargetPolicy } from '../../../src/core/files/target/target-policy.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { perform } from '../../../src/core/workers/tasks.ts';
import { packFilesToWrite } from '../../../src/core/workers/file-lists.ts';
import { sampleEntry } from '../../core/files/sample-entry.ts';
import { backupWork } from '../../support/crash-stage.ts';
import { flip, missing, packsOfKind, setDamageStage, spoil } from '../../support/damage.ts';
import { SINGLE_CHUNKS, contentReads } from '../../support/pack-reads.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function makeSaved(changes: Partial<OperationContext> = {}): Promise<TestRepository> {
  const repository = await makeTestRepository();
  Object.assign(repository.context, changes);
  const prng = createPrng(20261126);
  mkdirSync(join(repository.source, 'directory'));
  for (let index = 0; index < 100; index += 1) {
    writeFileSync(join(repository.source, 'directory', `file-${index}`), prng.bytes(index * 10));
  }
  writeFileSync(join(repository.source, 'large'), prng.bytes(300_000));
  await repository.backup();
  return repository;
}

test('the progress of a restore ends where its result does', async () => {
  const { context, directory } = await makeSaved();
  const progress = createProgress();
  const target = join(directory, 'target');
  const { bytesRestored, filesRestored } = await restore({ ...context, progress }, { selector: 'latest', target });
  expect(filesRestored).toBe(101);
  expect(progress).toMatchObject({ filesDone: filesRestored, bytesDone: bytesRestored, bytesTotal: bytesRestored });
});

test('metadata that cannot be set is a problem of a file that is there', async () => {
  const repository = await makeSaved();
  const native = nativeCalls()!;
  const setTimes = native.futimens.bind(native);
  // The first try says nothing, and the second one says why.
  let failuresLeft = 2;
  vi.spyOn(native, 'futimens').mockImplementation((...values) => {
    failuresLeft -= 1;
    if (failuresLeft >= 0) throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    setTimes(...values);
  });
  // In another thread, which earlier tests may have started, the call does not fail.
  const threads = new TaskPool({ threadCount: 0 });
  const options = { selector: 'latest:source/directory/file-5' };
  const { problems, filesRestored, exitCode } = await repository.restore(options, { threads });
  expect(failuresLeft).toBeLessThanOrEqual(0);
  expect(problems.map(({ path, message }) => [path, message.replace(/[^ ]*\/target-1/, '')])).toEqual([
    ['file-5', 'cannot set the time of /file-5: not permitted'],
  ]);
  expect([filesRestored, exitCode]).toEqual([1, 3]);
});

test('what the disk of the repository cannot read makes it a restore with damage', async () => {
  const repository = await makeSaved({ storeSizes: SINGLE_CHUNKS });
  const { backend: disk } = repository.context;
  let broken: string | undefined;
  const backend = contentReads(disk, (at) => {
    broken ??= at;
    if (at === broken)
      throw backendFailure({ location: disk.location, operation: 'readRange', name: at, errno: 'EIO' });
  });
  const { problems, filesRestored, filesFailed, exitCode } = await repository.restore({}, { backend });
  expect(problems).toMatchObject([{ code: 'BACKEND' }]);
  expect([filesRestored, filesFailed, exitCode]).toEqual([100, 1, 1]);
});

test('what could not be restored is counted', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const { backend: disk, snapshotIds, trees } = stage;
  const selector = snapshotIds.at(-1)!;
  const entries = [...trees.get(selector)!.values()].filter((entry) => entry.includes('"type":"file"'));
  const withContent = entries.filter((entry) => !entry.includes('"size":"0"')).length;
  const counts = { filesFailed: withContent, filesRestored: entries.length - withContent, directoriesFailed: 0 };
  const dataLost = await spoil(stage, ...packsOfKind(disk, 'data').map((file) => missing(file)));
  for (const dryRun of [false, true]) {
    const result = await restore(simulatedProcess(dataLost), { selector, target: memoryDirectory(), dryRun });
    expect(result).toMatchObject({ ...counts, othersRestored: 1 });
    expect(exitCodeOfRestore(result)).toBe(1);
  }
  const damaged = await spoil(stage, ...packsOfKind(disk, 'data').map((file) => flip(disk, file, 100)));
  const { filesFailed, filesRestored, problems } = await restore(simulatedProcess(damaged), {
    selector,
    target: memoryDirectory(),
  });
  expect([filesFailed, filesFailed + filesRestored]).toEqual([problems.length, entries.length]);
  expect(filesFailed).toBeGreaterThan(0);
  await backupWork(simulatedProcess(disk), stage.work);
  const older = packsOfKind(disk, 'tree');
  appendFileSync(join(stage.work, 'kept'), 'more');
  await backupWork(simulatedProcess(disk), stage.work);
  const treeLost = await spoil(stage, ...older.map((file) => missing(file)));
  const result = await restore(simulatedProcess(treeLost), { selector: 'latest', target: memoryDirectory() });
  expect(result).toMatchObject({
    filesFailed: 0,
    directoriesFailed: 1,
    problems: [{ path: 'work/sub/deep' }],
  });
  expect(exitCodeOfRestore(result)).toBe(1);
});

test('a fault of the program is not taken for a file that could not be written', () => {
  const place = { path: byteStringFromText('/nowhere/at-all'), replaces: false };
  const policy = createTargetPolicy({ setsOwners: false });
  const files = packFilesToWrite([{ ...sampleEntry(), ...place, sizeBytes: 4 }], [place.path], policy);
  const source = {
    subarray: () => {
      throw new RangeError('broken');
    },
  } as unknown as Uint8Array;
  expect(() => perform({ name: 'write', files, source, policy })).toThrow('broken');
});

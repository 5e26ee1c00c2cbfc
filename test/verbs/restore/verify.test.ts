import { mkdirSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { exitCodeOfRestore } from '../../../src/verbs/restore/report.ts';
import { UsageError } from '../../../src/core/errors.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import type { RestoreOptions, RestoreResult } from '../../../src/verbs/restore/restore.ts';
import { createPrng } from '../../support/prng.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const BIG_BYTES = 600_000;

async function makeSaved(): Promise<TestRepository & { readonly target: string }> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const { source, directory } = repository;
  mkdirSync(join(source, 'sub'));
  const prng = createPrng(7);
  for (const name of ['a', 'sub/b', 'sub/c']) writeFileSync(join(source, name), prng.bytes(3000));
  writeFileSync(join(source, 'big'), prng.bytes(BIG_BYTES));
  writeFileSync(join(source, 'empty'), '');
  // Node sets no nanoseconds.
  for (const name of ['a', 'sub/b', 'sub/c', 'big', 'empty']) utimesSync(join(source, name), 1000, 1000);
  await repository.backup();
  return { ...repository, target: join(directory, 'target') };
}

/** Restores, and calls `spoil` when everything is written and before it is read back. */
async function restoreSpoiled(
  { context, target }: Awaited<ReturnType<typeof makeSaved>>,
  spoil: () => void,
  options: Partial<RestoreOptions> = {},
): Promise<RestoreResult> {
  const progress = createProgress();
  let isSpoiled = false;
  Object.defineProperty(progress, 'phase', {
    get: () => '',
    set: (phase: string) => {
      if (phase !== 'verifying') return;
      isSpoiled = true;
      spoil();
    },
  });
  const result = await restore(
    { ...context, progress },
    { selector: 'latest:source', target, verify: true, ...options },
  );
  expect(isSpoiled).toBe(true);
  return result;
}

/** Changes a file and keeps its size and time. */
function spoilQuietly(path: string, position: number): void {
  const { atime, mtime, size } = statSync(path);
  const bytes = Buffer.alloc(1, 'x');
  truncateSync(path, position);
  writeFileSync(path, bytes, { flag: 'a' });
  truncateSync(path, size);
  utimesSync(path, atime, mtime);
}

it('counts what it has verified, also files that were there before', async () => {
  const saved = await makeSaved();
  const bytes = BIG_BYTES + 9000;
  const first = await restoreSpoiled(saved, () => undefined);
  expect(first).toMatchObject({ filesVerified: 5, bytesVerified: bytes, verifiesFailed: 0, problems: [] });
  const again = await restoreSpoiled(saved, () => undefined);
  expect(again).toMatchObject({ filesRestored: 0, filesVerified: 5, bytesVerified: bytes, verifiesFailed: 0 });
});

it('finds every kind of wrong content', async () => {
  const saved = await makeSaved();
  const { target, directory } = saved;
  const result = await restoreSpoiled(saved, () => {
    spoilQuietly(join(target, 'big'), BIG_BYTES - 1);
    truncateSync(join(target, 'a'), 2999);
    rmSync(join(target, 'sub', 'b'));
    rmSync(join(target, 'sub', 'c'));
    symlinkSync(join(directory, 'source', 'sub', 'c'), join(target, 'sub', 'c'));
    writeFileSync(join(target, 'empty'), 'x');
  });
  expect(result.problems.map(({ path, code }) => `${path} ${code}`).toSorted()).toEqual(
    ['a', 'big', 'empty', 'sub/b', 'sub/c'].map((path) => `${path} NOT_VERIFIED`),
  );
  expect(result).toMatchObject({ filesVerified: 0, verifiesFailed: 5 });
  expect(exitCodeOfRestore(result)).toBe(1);
});

it('finds a file that only looks like the one in the snapshot', async () => {
  const saved = await makeSaved();
  await restoreSpoiled(saved, () => undefined);
  spoilQuietly(join(saved.target, 'sub', 'b'), 0);
  const result = await restoreSpoiled(saved, () => undefined);
  expect(result).toMatchObject({ filesUnchanged: 5, filesVerified: 4, verifiesFailed: 1 });
  expect(result.problems.map(({ path }) => path)).toEqual(['sub/b']);
});

it('does not expect the content of the snapshot where the restore has reported something else', async () => {
  const saved = await makeSaved();
  mkdirSync(join(saved.target, 'a'), { recursive: true });
  writeFileSync(join(saved.target, 'big'), 'mine');
  writeFileSync(join(saved.target, 'sub'), 'mine');
  const result = await restoreSpoiled(saved, () => undefined);
  expect(result.problems.map(({ path, code }) => `${path} ${code}`).toSorted()).toEqual([
    'a IS_DIRECTORY',
    'big EXISTS',
    'sub TARGET',
  ]);
  expect(result).toMatchObject({ filesVerified: 1, verifiesFailed: 0 });
});

it('verifies only what is selected, and nothing in a dry run', async () => {
  const saved = await makeSaved();
  const result = await restoreSpoiled(saved, () => undefined, { include: ['sub'] });
  expect(result).toMatchObject({ filesVerified: 2 });
  const { context, target } = saved;
  await expect(restore(context, { selector: 'latest', target, dryRun: true, verify: true })).rejects.toThrow(
    UsageError,
  );
});

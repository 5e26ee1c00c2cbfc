import { linkSync, lutimesSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { TREE_ACCESS_TIME_BYTES } from '../../../src/core/format/constants.ts';
import { accessTimeExtensions, accessTimeOf } from '../../../src/core/format/tree/access-time.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { createPrng } from '../../support/prng.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { runTool } from '../../support/tools.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';
import { withoutKoffi } from '../../support/without-koffi.ts';

const NAMES = ['', 'directory', 'directory/small', 'large', 'empty', 'link', 'fifo', 'same'];

/** Access times of several years. Nothing but a program that reads the file changes them. */
async function makeTree(): Promise<TestRepository> {
  const repository = await makeTestRepository({}, temporaryDirectory());
  const { source } = repository;
  mkdirSync(join(source, 'directory'));
  writeFileSync(join(source, 'directory/small'), 'small');
  writeFileSync(join(source, 'large'), createPrng(1).bytes(3_000_000));
  writeFileSync(join(source, 'empty'), '');
  symlinkSync('large', join(source, 'link'));
  runTool('mkfifo', join(source, 'fifo'));
  linkSync(join(source, 'directory/small'), join(source, 'same'));
  setTimes(source);
  await letSettle(...NAMES.map((name) => join(source, name)));
  return repository;
}

function setTimes(source: string): void {
  for (const [index, name] of [...NAMES.entries()].toReversed()) {
    const seconds = -50_000_000 + index * 200_000_000;
    lutimesSync(join(source, name), seconds + 0.25, 1e9);
  }
}

function accessTimesIn(directory: string): string[] {
  // By one program that looks at each, since a listing changes the time of a directory.
  return NAMES.map((name) => runTool('stat', '-c', '%x', join(directory, name)).trim());
}

async function recordedIn({ context }: TestRepository): Promise<number> {
  let count = 0;
  await listFiles(context, { selector: 'latest', recursive: true }, ({ entry }) => {
    if (accessTimeOf(entry) !== undefined) count += 1;
  });
  return count;
}

it('a restore brings back the access times of a backup that has recorded them, and only then', async () => {
  const repository = await makeTree();
  const expected = accessTimesIn(repository.source);
  await repository.backup({ withAtime: true });
  const { target, problems } = await repository.restore();
  expect(problems).toEqual([]);
  expect(accessTimesIn(join(target, 'source'))).toEqual(expected);
  expect(await recordedIn(repository)).toBe(NAMES.length);
  await repository.backup();
  expect(await recordedIn(repository)).toBe(0);
  const plain = await repository.restore();
  expect(statSync(join(plain.target, 'source/large')).atimeMs).toBeGreaterThan(1.5e12);
});

it('what was only read since is not read again, but has another entry', async ({ skip }) => {
  const repository = await makeTree();
  await repository.backup({ withAtime: true });
  const path = join(repository.source, 'large');
  const before = statSync(path).atimeMs;
  readFileSync(path);
  const after = statSync(path).atimeMs;
  skip(after === before, 'needs a file system with access times');
  const { summary } = await repository.backup({ withAtime: true });
  expect(summary).toMatchObject({ filesNew: 0, filesChanged: 0, dataBlobs: 0 });
  const { target } = await repository.restore();
  expect(statSync(join(target, 'source/large')).atimeMs).toBe(after);
});

it('an ordinary user gets the times from before the backup', async () => {
  const repository = await makeTree();
  giveToNobody(repository.directory);
  const expected = accessTimesIn(repository.source);
  const target = await withoutPrivileges(async () => {
    await repository.backup({ withAtime: true });
    return (await repository.restore()).target;
  });
  expect(accessTimesIn(join(target, 'source'))).toEqual(expected);
});

it('a rewrite keeps them', async () => {
  const repository = await makeTree();
  await repository.backup({ withAtime: true });
  await rewriteSnapshots(repository.context, { selectors: ['latest'], patterns: { exact: ['fifo'] }, forget: true });
  expect(await recordedIn(repository)).toBe(NAMES.length - 1);
});

it('without native calls, they are restored to the millisecond', async () => {
  const repository = await makeTree();
  withoutKoffi();
  await repository.backup({ withAtime: true });
  const { target } = await repository.restore();
  expect(statSync(join(target, 'source/large')).atimeMs).toBe(550_000_000_250);
});

it.each([
  ['of another length', new Uint8Array(TREE_ACCESS_TIME_BYTES - 1)],
  ['with too many nanoseconds', Buffer.alloc(TREE_ACCESS_TIME_BYTES, 0xff).fill(0, 0, 8)],
  ['too far away', Buffer.alloc(TREE_ACCESS_TIME_BYTES, 0).fill(0x7f, 0, 8)],
])('an access time %s counts as none', (_, bytes) => {
  expect(accessTimeOf({ extensions: [{ type: 5, bytes }] })).toBeUndefined();
  expect(accessTimeOf({ extensions: accessTimeExtensions({ seconds: -1, nanoseconds: 5 }) })).toEqual({
    seconds: -1,
    nanoseconds: 5,
  });
});

import { chmodSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { openDirectoryPath } from '../../../src/core/files/paths/directory-path.ts';
import { removeFromTarget } from '../../../src/core/files/target/target-removal.ts';
import type { RemovalOptions } from '../../../src/core/files/target/target-removal.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { contentReads } from '../../support/pack-reads.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { NEEDS_ROOT, giveToNobody, isRoot, withoutPrivileges } from '../../support/unprivileged.ts';

const CLOSED = { '.': 0o555, inner: 0o555, 'inner/deep': 0o500 };

interface ClosedTree extends TestRepository {
  readonly target: string;
  readonly again: TestRepository['restore'];
}

/** A repository of an ordinary user, who has restored directories that he may not change. */
async function makeRestored(): Promise<ClosedTree> {
  const repository = await makeTestRepository();
  const { directory, source } = repository;
  const target = join(directory, 'target');
  onTestFinished(() => {
    for (const top of [source, join(target, 'source')])
      for (const name of Object.keys(CLOSED)) chmodSync(join(top, name), 0o700);
  });
  mkdirSync(join(source, 'inner/deep'), { recursive: true });
  for (const name of ['a', 'inner/b', 'inner/deep/c']) writeFileSync(join(source, name), name);
  for (const [name, mode] of Object.entries(CLOSED).reverse()) chmodSync(join(source, name), mode);
  giveToNobody(directory);
  const again: TestRepository['restore'] = async (given, changes) =>
    await withoutPrivileges(async () => await repository.restore({ target, ...given }, changes));
  await withoutPrivileges(async () => {
    await repository.backup();
    await repository.restore({ target });
  });
  return { ...repository, target, again };
}

const modesIn = (top: string): number[] => Object.keys(CLOSED).map((name) => lstatSync(join(top, name)).mode & 0o7777);

function openFor(top: string, action: () => void): void {
  const modes = modesIn(top);
  for (const name of Object.keys(CLOSED)) chmodSync(join(top, name), 0o700);
  action();
  for (const [index, name] of Object.keys(CLOSED).entries()) chmodSync(join(top, name), modes[index]!);
}

it.each(['always', 'if-changed'] as const)(
  'repeats a restore of directories that are read-only, with --overwrite %s',
  async (overwrite) => {
    const { source, target, again } = await makeRestored();
    const top = join(target, 'source');
    openFor(top, () => {
      writeFileSync(join(top, 'inner/b'), 'changed');
      rmSync(join(top, 'inner/deep/c'));
    });
    chmodSync(join(top, 'inner'), 0o111);
    const result = await again({ overwrite });
    expect(result).toMatchObject({ problems: [], filesFailed: 0, exitCode: 0 });
    expect(diffTrees(source, top)).toEqual([]);
  },
);

it('deletes in directories that are read-only, and leaves those that stay as they were', async () => {
  const { source, target, again } = await makeRestored();
  const top = join(target, 'source');
  openFor(top, () => {
    for (const name of ['inner/gone', 'stays']) {
      mkdirSync(join(top, name, 'below'), { recursive: true });
      for (const file of ['file', 'below/file']) writeFileSync(join(top, name, file), file);
      for (const place of ['below', '.']) chmodSync(join(top, name, place), 0o555);
    }
    giveToNobody(top);
  });
  onTestFinished(() => {
    for (const name of ['.', 'stays', 'stays/below']) chmodSync(join(top, name), 0o700);
  });
  const result = await again({ delete: true, exclude: ['stays/below'] });
  expect(result).toMatchObject({ problems: [], filesDeleted: 3, deletesFailed: 0 });
  expect(readdirSync(join(top, 'stays'))).toEqual(['below']);
  expect(lstatSync(join(top, 'stays')).mode & 0o777).toBe(0o555);
  expect(modesIn(top)).toEqual(modesIn(source));
});

it('gives directories their mode back when the restore ends early', async () => {
  const { target, context, again } = await makeRestored();
  const top = join(target, 'source');
  const before = modesIn(top);
  let isWritableMeanwhile = false;
  const backend = contentReads(context.backend, () => {
    isWritableMeanwhile = (lstatSync(top).mode & 0o700) === 0o700;
    throw new Error('stopped');
  });
  await expect(again({ overwrite: 'always' }, { backend })).rejects.toThrow('stopped');
  expect(isWritableMeanwhile).toBe(true);
  expect(modesIn(top)).toEqual(before);
  expect(readFileSync(join(top, 'a'), 'utf8')).toBe('a');
});

it('gives more directories than it holds open their mode back, below one that nobody may enter', async ({ skip }) => {
  // An ordinary user could not back up what is in it.
  skip(!isRoot, NEEDS_ROOT);
  const repository = await makeTestRepository();
  const { directory, source } = repository;
  const target = join(directory, 'target');
  const closed = join(target, 'source/closed');
  const names = Array.from({ length: 200 }, (_, index) => `${index}`);
  for (const name of names) {
    mkdirSync(join(source, 'closed', name), { recursive: true });
    writeFileSync(join(source, 'closed', name, 'file'), name);
    chmodSync(join(source, 'closed', name), 0o555);
  }
  chmodSync(join(source, 'closed'), 0o600);
  await repository.backup();
  giveToNobody(directory);
  const restore = async (backend: Backend): Promise<unknown> =>
    withoutPrivileges(async () => repository.restore({ target, overwrite: 'always' }, { backend }));
  const { backend: disk } = repository.context;
  await restore(disk);
  let writableCount = 0;
  const stopping = contentReads(disk, () => {
    writableCount = names.filter((name) => (lstatSync(join(closed, name)).mode & 0o200) !== 0).length;
    throw new Error('stopped');
  });
  await expect(restore(stopping)).rejects.toThrow('stopped');
  expect(writableCount).toBe(200);
  expect(names.filter((name) => (lstatSync(join(closed, name)).mode & 0o7777) !== 0o555)).toEqual([]);
  expect(lstatSync(closed).mode & 0o7777).toBe(0o600);
});

it.for([0o600, 0o300, 0o100, 0o000])(
  'deletes below directories of mode %o, and gives them their mode back',
  async (mode, { skip }) => {
    // An ordinary user could not back up what is in them.
    skip(!isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository();
    const { directory, source } = repository;
    const target = join(directory, 'target');
    const [from, to] = [join(source, 'closed'), join(target, 'source/closed')];
    onTestFinished(() => {
      for (const closed of [from, to]) chmodSync(closed, 0o700);
    });
    mkdirSync(join(from, 'inner'), { recursive: true });
    writeFileSync(join(from, 'inner/kept'), '');
    chmodSync(from, mode);
    await repository.backup();
    mkdirSync(join(to, 'inner/extra'), { recursive: true });
    writeFileSync(join(to, 'inner/extra/file'), '');
    writeFileSync(join(to, 'also'), '');
    giveToNobody(directory);
    chmodSync(to, mode);
    const result = await withoutPrivileges(async () =>
      repository.restore({ target, delete: true, overwrite: 'never' }),
    );
    expect(result.problems).toEqual([]);
    expect(lstatSync(to).mode & 0o7777).toBe(mode);
    expect(readdirSync(to, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(['inner', 'inner/kept']);
  },
);

it('keeps the modes of directories whose deletion is interrupted', async () => {
  const directory = temporaryDirectory();
  const extra = join(directory, 'extra');
  mkdirSync(join(extra, 'inner'), { recursive: true });
  for (let index = 0; index < 50; index += 1) writeFileSync(join(extra, 'inner', `${index}`), '');
  for (const name of ['inner', '.']) chmodSync(join(extra, name), 0o500);
  giveToNobody(directory);
  onTestFinished(() => {
    for (const name of ['.', 'inner']) chmodSync(join(extra, name), 0o700);
  });
  let removedCount = 0;
  const options: RemovalOptions = {
    dryRun: false,
    protectedIdentities: new Set(),
    keeps: () => false,
    onRemoved: () => {
      removedCount += 1;
      if (removedCount === 10) throw new Error('interrupted');
    },
    onFailed: () => undefined,
    pause: () => undefined,
  };
  const location = openDirectoryPath(byteStringFromText(directory), { side: 'target', hold: 'always' });
  onTestFinished(() => location.close());
  const name = 'extra' as ByteString;
  const removing = withoutPrivileges(async () =>
    removeFromTarget(location, name, { parent: undefined, name }, options),
  );
  await expect(removing).rejects.toThrow('interrupted');
  expect(['.', 'inner'].map((each) => lstatSync(join(extra, each)).mode & 0o777)).toEqual([0o500, 0o500]);
});

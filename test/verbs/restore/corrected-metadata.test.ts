import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { NO_ATTRIBUTE_TOOLS, dumpAttributes } from '../../support/attribute-dump.ts';
import { bringBack, makeStage, save } from '../../support/attribute-stage.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { runTool, testNeeding } from '../../support/tools.ts';
import { NO_ROOT, isRoot } from '../../support/unprivileged.ts';

const needsRoot = testNeeding(NO_ATTRIBUTE_TOOLS, NO_ROOT);

it('--overwrite if-changed corrects links and special files whose metadata differs, and no others', async () => {
  const { source, backup, restore } = await makeTestRepository();
  symlinkSync('nowhere', join(source, 'link'));
  linkSync(join(source, 'link'), join(source, 'other-link'));
  for (const name of ['fifo', 'same']) runTool('mkfifo', join(source, name));
  if (isRoot) {
    runTool('mknod', join(source, 'device'), 'c', '1', '3');
    chownSync(join(source, 'device'), 4321, 1234);
  }
  await backup();
  const { target } = await restore();
  const at = (name: string): string => join(target, 'source', name);
  const { ino } = lstatSync(at('same'));
  if (isRoot) for (const name of ['link', 'device']) runTool('chown', '-h', '1:1', at(name));
  runTool('touch', '-h', '-d', '2001-01-01', at('link'));
  rmSync(at('other-link'));
  symlinkSync('nowhere', at('other-link'));
  chmodSync(at('fifo'), 0o777);
  const changedCount = isRoot ? 4 : 3;
  const options = { target, overwrite: 'if-changed' } as const;
  expect(await restore({ ...options, dryRun: true })).toMatchObject({ othersRestored: changedCount });
  expect(lstatSync(at('fifo')).mode & 0o777).toBe(0o777);
  expect(await restore(options)).toMatchObject({ problems: [], othersRestored: changedCount });
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  expect(lstatSync(at('same')).ino).toBe(ino);
  expect(await restore(options)).toMatchObject({ problems: [], othersRestored: 0 });
});

it('--overwrite if-changed links the names of a file again, but not files that differ', async () => {
  const { source, backup, restore } = await makeTestRepository();
  for (const group of ['a', 'b']) {
    const names = [1, 2, 3].map((index) => join(source, `${group}${index}`));
    writeFileSync(names[0]!, `content of ${group}`);
    utimesSync(names[0]!, 1_000_000_000, 1_000_000_000);
    for (const name of names.slice(1)) linkSync(names[0]!, name);
  }
  await backup();
  const { target } = await restore();
  const at = (name: string): string => join(target, 'source', name);
  for (const [name, content] of [
    ['a2', 'content of a'],
    ['a3', 'content of a'],
    ['b2', 'CONTENT of b'],
  ] as const) {
    rmSync(at(name));
    writeFileSync(at(name), content);
    utimesSync(at(name), 1_000_000_000, 1_000_000_000);
  }
  const options = { target, overwrite: 'if-changed' } as const;
  const result = await restore(options);
  expect(result).toMatchObject({ problems: [], filesRestored: 2, filesUnchanged: 4, bytesRestored: 0, blocksRead: 0 });
  const inodes = (group: string): number =>
    new Set([1, 2, 3].map((index) => lstatSync(at(`${group}${index}`)).ino)).size;
  expect([inodes('a'), inodes('b')]).toEqual([1, 2]);
  expect(lstatSync(at('a1')).nlink).toBe(3);
});

it('--overwrite if-changed separates files whose metadata differs, and leaves names outside of the target alone', async () => {
  const { source, backup, restore } = await makeTestRepository();
  for (const name of ['a', 'b', 'pair']) {
    writeFileSync(join(source, name), 'same');
    utimesSync(join(source, name), 1_000_000_000, 1_000_000_000);
    chmodSync(join(source, name), name === 'b' ? 0o644 : 0o600);
  }
  linkSync(join(source, 'pair'), join(source, 'pair-2'));
  await backup();
  const { target } = await restore();
  const at = (name: string): string => join(target, 'source', name);
  const outside = join(target, '../outside');
  rmSync(at('b'));
  linkSync(at('a'), at('b'));
  linkSync(at('pair'), outside);
  chmodSync(outside, 0o640);
  const options = { target, overwrite: 'if-changed' } as const;
  expect(await restore({ ...options, dryRun: true })).toMatchObject({ problems: [], filesRestored: 3 });
  expect(await restore(options)).toMatchObject({ problems: [], filesRestored: 3, filesUnchanged: 1 });
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  expect(lstatSync(outside).mode & 0o777).toBe(0o640);
  expect(await restore(options)).toMatchObject({ filesRestored: 0, filesUnchanged: 4 });
});

needsRoot(`--overwrite if-changed sets flags that a file has lost`, async () => {
  const stage = await makeStage();
  for (const name of ['flagged', 'plain']) writeFileSync(join(stage.source, name), name);
  runTool('chattr', '+dA', join(stage.source, 'flagged'));
  await save(stage);
  await bringBack(stage);
  const restored = join(stage.directory, 'target/tree');
  runTool('chattr', '-A', join(restored, 'flagged'));
  expect(await bringBack(stage, { overwrite: 'if-changed' })).toMatchObject({ filesRestored: 0, problems: [] });
  expect(dumpAttributes(restored)).toBe(dumpAttributes(stage.source));
});

needsRoot(`replaces and corrects files with capabilities that the snapshot lacks`, async () => {
  const stage = await makeStage();
  const names = ['small', 'big'];
  for (const name of names) writeFileSync(join(stage.source, name), Buffer.alloc(name === 'big' ? 2 ** 21 : 5, name));
  await save(stage);
  await bringBack(stage);
  const restored = join(stage.directory, 'target/tree');
  for (const overwrite of ['if-changed', 'always'] as const) {
    for (const path of names.map((name) => join(restored, name))) {
      runTool('setcap', 'cap_setuid+ep', path);
      runTool('setfattr', '-n', 'trusted.other', '-v', 'x', path);
    }
    expect(dumpAttributes(restored)).toContain('cap_setuid');
    expect(await bringBack(stage, { overwrite })).toMatchObject({ problems: [] });
    expect(dumpAttributes(restored)).toBe(dumpAttributes(stage.source));
  }
});

needsRoot(`--delete deletes in directories before they become immutable`, async () => {
  const stage = await makeStage();
  const flagged = join(stage.source, 'flagged');
  mkdirSync(join(flagged, 'inner'), { recursive: true });
  writeFileSync(join(flagged, 'kept'), 'kept');
  runTool('chattr', '+i', join(flagged, 'inner'), flagged);
  await save(stage);
  const restored = join(stage.directory, 'target/tree/flagged');
  mkdirSync(join(restored, 'inner'), { recursive: true });
  for (const name of ['gone', 'inner/gone']) writeFileSync(join(restored, name), name);
  expect(await bringBack(stage, { delete: true })).toMatchObject({ problems: [], filesDeleted: 2 });
  expect(dumpAttributes(restored)).toBe(dumpAttributes(flagged));
  expect(runTool('lsattr', '-d', restored)).toMatch(/^-*i/);
  // Nothing has to change, so nothing fails.
  expect(await bringBack(stage, { delete: true })).toMatchObject({ problems: [], filesDeleted: 0 });
  runTool('chattr', '-i', join(restored, 'inner'));
  writeFileSync(join(restored, 'inner/gone'), 'gone');
  runTool('chattr', '+i', join(restored, 'inner'));
  const { problems, deletesFailed } = await bringBack(stage, { delete: true });
  expect(deletesFailed).toBe(1);
  for (const { message } of problems) expect(message).toContain('is immutable or append-only');
});

needsRoot(`leaves no temporary file in a directory that is append-only`, async () => {
  const stage = await makeStage();
  const inner = join(stage.source, 'inner');
  mkdirSync(inner);
  for (const name of ['same', 'missing']) writeFileSync(join(inner, name), name);
  for (const name of ['link', 'same-link']) symlinkSync('same', join(inner, name));
  runTool('mkfifo', join(inner, 'fifo'));
  await save(stage);
  await bringBack(stage);
  const restored = join(stage.directory, 'target/tree/inner');
  for (const name of ['missing', 'link', 'fifo']) rmSync(join(restored, name));
  runTool('chattr', '+a', restored);
  try {
    for (const overwrite of ['never', 'always'] as const) {
      const { problems } = await bringBack(stage, { overwrite });
      expect(problems.map(({ path }) => path)).toEqual(expect.arrayContaining(['tree/inner/fifo', 'tree/inner/link']));
      for (const { message } of problems) expect(message).toContain('immutable or append-only');
      expect(readdirSync(restored).filter((name) => !['same', 'same-link', 'missing'].includes(name))).toEqual([]);
    }
  } finally {
    runTool('chattr', '-a', restored);
  }
});

needsRoot(`set-id bits that are left out without the owner are counted and named`, async () => {
  const stage = await makeStage();
  for (const name of ['small', 'own']) {
    writeFileSync(join(stage.source, name), name);
    if (name === 'small') chownSync(join(stage.source, name), 4321, 1234);
    chmodSync(join(stage.source, name), 0o6755);
  }
  await save(stage);
  const result = await bringBack(stage, { owner: false });
  expect(result).toMatchObject({
    problems: [],
    attributesIncomplete: 1,
    attributesUnset: [
      { name: 'setgid bit', reason: 'owner', count: 1 },
      { name: 'setuid bit', reason: 'owner', count: 1 },
    ],
  });
  const modeOf = (name: string): number => lstatSync(join(stage.directory, 'target/tree', name)).mode & 0o7777;
  expect([modeOf('small'), modeOf('own')]).toEqual([0o755, 0o6755]);
});

it('--delete keeps and reports what an earlier restore has set aside', async () => {
  const { source, backup, restore } = await makeTestRepository();
  writeFileSync(join(source, 'kept'), 'kept');
  await backup();
  const { target } = await restore();
  const name = '.ldm-set-aside-1_00000000_00000000_0_1';
  mkdirSync(join(target, 'source', name));
  writeFileSync(join(target, 'source', name, 'only copy'), 'mine');
  mkdirSync(join(target, 'source/gone'));
  writeFileSync(join(target, 'source/gone', name), 'mine');
  writeFileSync(join(target, 'source/gone/other'), 'other');
  const result = await restore({ target, delete: true });
  expect(result).toMatchObject({ filesDeleted: 1, directoriesDeleted: 0, deletesFailed: 2, exitCode: 3 });
  expect(result.problems.map(({ path, code }) => [path, code])).toEqual(
    expect.arrayContaining([
      [`source/${name}`, 'SET_ASIDE'],
      [`source/gone/${name}`, 'SET_ASIDE'],
    ]),
  );
  for (const kept of [join(name, 'only copy'), join('gone', name)])
    expect(lstatSync(join(target, 'source', kept)).isFile()).toBe(true);
});

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { exitCodeOfRestore } from '../../src/verbs/restore/report.ts';
import { nativeCalls } from '../../src/core/files/native/native.ts';
import { NO_ATTRIBUTE_TOOLS, dumpAttributes } from '../support/attribute-dump.ts';
import { bringBack, makeStage, makeTree, save } from '../support/attribute-stage.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { forgeSnapshot } from '../support/forge-snapshot.ts';
import { runTool, testNeeding } from '../support/tools.ts';
import { NO_ROOT, giveToNobody, isRoot, withoutPrivileges } from '../support/unprivileged.ts';

const MIB = 1024 * 1024;
const needsTools = testNeeding(NO_ATTRIBUTE_TOOLS);
const needsRoot = testNeeding(NO_ATTRIBUTE_TOOLS, NO_ROOT);

needsTools(`everything is as it was, for the tools too`, async () => {
  const stage = await makeStage();
  makeTree(stage);
  await save(stage);
  const result = await bringBack(stage);
  expect(result).toMatchObject({ problems: [], attributesIncomplete: 0, attributesUnset: [] });
  const restored = join(stage.directory, 'target/tree');
  expect(diffTrees(stage.source, restored)).toEqual([]);
  expect(dumpAttributes(restored)).toBe(dumpAttributes(stage.source));
  expect(dumpAttributes(restored)).toMatch(isRoot ? /trusted\.link[^]*cap_chown/ : /user\.empty/);
});

needsRoot(`a user gets what a user may set, and the rest is counted and named`, async () => {
  const stage = await makeStage();
  makeTree(stage);
  giveToNobody(join(stage.source, 'directory/readable'));
  await save(stage);
  const target = join(stage.directory, 'target');
  mkdirSync(target);
  giveToNobody(target);
  runTool('chmod', '755', stage.directory);
  const result = await withoutPrivileges(async () => await bringBack(stage));
  expect(result.problems.map(({ path, code }) => [path, code])).toEqual([['tree/device', 'SKIPPED']]);
  const counts = result.attributesUnset.map(({ name, reason, count }) => [name, reason, count]);
  expect(counts).toEqual([
    ['flag a', 'privilege', 1],
    ['flag i', 'privilege', 3],
    ['owner', 'privilege', expect.any(Number)],
    ['security.capability', 'privilege', 1],
    ['setuid bit', 'owner', 1],
    ['trusted.link', 'privilege', 1],
  ]);
  // A missing owner alone is not counted, or it would be everything.
  const owners = result.attributesUnset.find(({ name }) => name === 'owner');
  expect(result.attributesIncomplete).toBeLessThan(owners!.count);
  const dump = runTool('getfattr', '-R', '-h', '-d', '-m', '-', '-e', 'hex', '--absolute-names', target);
  expect(dump.match(/user\.some name=0x00ff0a0d/g)).toHaveLength(6);
  expect(dump).toContain('system.posix_acl_default');
  expect(statSync(join(target, 'tree/directory/inner/x')).mode & 0o7777).toBe(0o755);
});

needsRoot(`nothing is set with xattr: false`, async () => {
  const stage = await makeStage();
  makeTree(stage);
  await save(stage);
  expect(await bringBack(stage, { xattr: false })).toMatchObject({ problems: [], attributesIncomplete: 0 });
  const dump = dumpAttributes(join(stage.directory, 'target/tree'));
  expect(dump).not.toMatch(/user\.|trusted\.|posix_acl|cap_/);
  expect(runTool('lsattr', '-d', join(stage.directory, 'target/tree/small'))).toMatch(/^[^i ]+ /);
});

needsRoot(`names of one immutable file stay one file`, async () => {
  const stage = await makeStage();
  makeTree(stage);
  await save(stage);
  await bringBack(stage);
  const inodes = ['small', 'directory/same'].map((name) => statSync(join(stage.directory, 'target/tree', name)).ino);
  expect(inodes[1]).toBe(inodes[0]);
  // A restore that was interrupted before the last step is completed by the next one.
  runTool('chattr', '-i', join(stage.directory, 'target/tree/small'), join(stage.directory, 'target/tree/sparse'));
  expect(await bringBack(stage, { overwrite: 'if-changed' })).toMatchObject({ filesRestored: 0 });
  expect(dumpAttributes(join(stage.directory, 'target/tree'))).toBe(dumpAttributes(stage.source));
});

needsRoot(`an immutable file in the way is an error that says so`, async () => {
  const stage = await makeStage();
  makeTree(stage);
  await save(stage);
  await bringBack(stage);
  const { problems, filesFailed } = await bringBack(stage, { overwrite: 'always' });
  expect(filesFailed).toBeGreaterThan(2);
  expect(problems.find(({ path }) => path === 'tree/sparse')!.message).toContain('is immutable or append-only');
});

needsTools(`new files do not inherit ACLs from an existing directory, which becomes as it was`, async () => {
  const stage = await makeStage();
  const { source, directory } = stage;
  mkdirSync(join(source, 'sub/deep'), { recursive: true });
  for (const name of ['file', 'sub/file', 'sub/deep/file']) writeFileSync(join(source, name), name);
  runTool('setfattr', '-n', 'user.kept', '-v', 'x', source);
  const id = await save(stage);
  const existing = join(directory, 'target/tree');
  const prepare = (): void => {
    mkdirSync(existing, { recursive: true });
    runTool('setfacl', '-d', '-m', 'u:65534:rwx', existing);
    runTool('setfattr', '-n', 'user.foreign', '-v', 'y', existing);
  };
  prepare();
  await bringBack(stage);
  expect(dumpAttributes(existing)).toBe(dumpAttributes(source));
  // A snapshot that does not know all attributes says nothing about what is missing in it.
  await forgeSnapshot(stage.backend, id, () => ({}), { attributes: undefined as never });
  prepare();
  await bringBack(stage);
  expect(runTool('getfattr', '-d', '--absolute-names', existing)).toMatch(/user\.foreign[^]*user\.kept/);
});

needsTools(`a file whose content is right gets its attributes too`, async () => {
  const stage = await makeStage();
  writeFileSync(join(stage.source, 'file'), 'content');
  writeFileSync(join(stage.source, 'plain'), 'content');
  runTool('setfattr', '-n', 'user.name', '-v', 'value', join(stage.source, 'file'));
  await save(stage);
  await bringBack(stage);
  const restored = join(stage.directory, 'target/tree');
  runTool('setfattr', '-n', 'user.name', '-v', 'other', join(restored, 'file'));
  runTool('setfattr', '-n', 'user.foreign', '-v', 'x', join(restored, 'plain'));
  expect(await bringBack(stage, { overwrite: 'if-changed' })).toMatchObject({ filesUnchanged: 2, problems: [] });
  expect(dumpAttributes(restored)).toBe(dumpAttributes(stage.source));
});

needsTools(`an attribute that cannot be set is a problem, up to 20 times, and counted`, async () => {
  const stage = await makeStage();
  for (let index = 0; index < 25; index += 1) {
    mkdirSync(join(stage.source, `d${index}`));
    runTool('setfattr', '-n', 'user.name', '-v', 'x', join(stage.source, `d${index}`));
  }
  await save(stage);
  const set = vi.spyOn(nativeCalls()!.attributes!, 'set').mockReturnValue(-28);
  const full = await bringBack(stage);
  expect(set).toHaveBeenCalledTimes(25);
  expect(full.problems).toHaveLength(20);
  expect(full.problems[0]).toMatchObject({ code: 'ATTRIBUTES', message: 'restored without user.name (ENOSPC)' });
  expect(full).toMatchObject({ attributesIncomplete: 25, attributesUnset: [{ reason: 'ENOSPC', count: 25 }] });
  expect(exitCodeOfRestore(full)).toBe(3);
  set.mockReturnValue(-95);
  const unsupported = await bringBack(stage, { target: join(stage.directory, 'other') });
  expect(unsupported.problems.map(({ message }) => message)).toEqual([
    'restored without user.name (the file system does not have it)',
  ]);
  expect(unsupported.attributesUnset).toEqual([{ name: 'user.name', reason: 'unsupported', count: 25 }]);
});

test('a hole map that is wrong costs no byte', async () => {
  const stage = await makeStage();
  const content = Buffer.alloc(MIB, 3).fill(0, 8192, 20_000);
  writeFileSync(join(stage.source, 'file'), content);
  const holes = Float64Array.of(0, 4096, 8192, 16_384, 500_000, MIB);
  const id = await save(stage);
  await forgeSnapshot(stage.backend, id, () => ({ holes }));
  expect(await bringBack(stage)).toMatchObject({ problems: [], filesRestored: 1 });
  const restored = join(stage.directory, 'target/tree/file');
  expect(readFileSync(restored).equals(content)).toBe(true);
  expect(statSync(restored).blocks * 512).toBeLessThan(MIB);
});

import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { restore } from '../../../src/verbs/restore/restore.ts';
import { NO_ATTRIBUTE_TOOLS } from '../../support/attribute-dump.ts';
import { contentReads } from '../../support/pack-reads.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { runTool, testNeeding } from '../../support/tools.ts';
import { isRoot } from '../../support/unprivileged.ts';

/** Saves a directory `home`, which belongs to another user if we are root. */
async function makeSaved({ mode = 0o700, prepare = (_home: string): void => undefined } = {}): Promise<TestRepository> {
  const repository = await makeTestRepository();
  const home = join(repository.source, 'home');
  mkdirSync(join(home, 'sub'), { recursive: true });
  writeFileSync(join(home, 'secret'), 'secret');
  prepare(home);
  if (isRoot) chownSync(home, 4321, 1234);
  chmodSync(home, mode);
  utimesSync(home, 1, 1_000_000);
  await repository.backup();
  return repository;
}

const metadataOf = (path: string): number[] => {
  const { mode, uid, gid, mtimeMs } = lstatSync(path);
  return [mode & 0o7777, uid, gid, mtimeMs];
};

it('a directory created for the contents of another is as private as that was', async () => {
  const { source, directory, restore: restoreTo } = await makeSaved();
  const target = join(directory, 'outer/target');
  const result = await restoreTo({ selector: 'latest:source/home', target });
  expect(result).toMatchObject({ problems: [], filesRestored: 1, directoriesRestored: 1 });
  expect(metadataOf(target)).toEqual(metadataOf(join(source, 'home')));
  expect(lstatSync(join(directory, 'outer')).mode & 0o777).toBe(0o777 & ~process.umask());
});

it('is never open while it is restored, and gets its metadata even if the restore fails', async () => {
  const { source, directory, context, restore: restoreTo } = await makeSaved({ mode: 0o755 });
  const target = join(directory, 'target');
  let modeMeanwhile: number | undefined;
  const backend = contentReads(context.backend, () => {
    modeMeanwhile = lstatSync(target).mode & 0o777;
    throw new Error('stopped');
  });
  await expect(restoreTo({ selector: 'latest:source/home', target }, { backend })).rejects.toThrow('stopped');
  expect(modeMeanwhile).toBe(0o700);
  expect(metadataOf(target)).toEqual(metadataOf(join(source, 'home')));
});

it('a target that exists keeps its metadata, and the recorded directory gets that of the snapshot', async () => {
  const { source, directory, context, restore: restoreTo } = await makeSaved();
  const target = join(directory, 'target');
  const home = join(source, 'home');
  const recorded = metadataOf(home);
  mkdirSync(target);
  chmodSync(target, 0o755);
  await restoreTo({ selector: 'latest:source/home', target });
  expect(metadataOf(target).slice(0, 3)).toEqual([0o755, process.getuid!(), process.getgid!()]);
  for (const isLost of [false, true]) {
    if (isLost) rmSync(home, { recursive: true });
    else chmodSync(home, 0o755);
    expect(await restore(context, { selector: 'latest:source/home', original: true })).toMatchObject({ problems: [] });
    expect(metadataOf(home)).toEqual(recorded);
    expect(readFileSync(join(home, 'secret'), 'utf8')).toBe('secret');
  }
});

it.each(['source/home/sub', 'source/home/sub/file'])(
  'missing directories above %s get their metadata at its original path, and keep others out until then',
  async (place) => {
    const { source, context } = await makeSaved({ prepare: (home) => writeFileSync(join(home, 'sub', 'file'), 'x') });
    const home = join(source, 'home');
    const recorded = [source, home].map(metadataOf);
    for (const fails of [true, false]) {
      rmSync(source, { recursive: true });
      let modes: unknown;
      const backend = contentReads(context.backend, () => {
        modes = [source, home].map((path) => lstatSync(path).mode & 0o777);
        if (fails) throw new Error('stopped');
      });
      const restoring = restore({ ...context, backend }, { selector: `latest:${place}`, original: true });
      if (fails) await expect(restoring).rejects.toThrow('stopped');
      else expect(await restoring).toMatchObject({ problems: [], filesRestored: 1 });
      expect(modes).toEqual([0o700, 0o700]);
      expect([source, home].map(metadataOf)).toEqual(recorded);
    }
    chmodSync(home, 0o751);
    await restore(context, { selector: `latest:${place}`, original: true, overwrite: 'always' });
    expect(lstatSync(home).mode & 0o777).toBe(0o751);
  },
);

it('the directory of a single file, of a whole snapshot, and of a dry run gets nothing', async () => {
  const { directory, restore: restoreTo } = await makeSaved();
  const plain = 0o777 & ~process.umask();
  for (const selector of ['latest', 'latest:source/home/secret']) {
    const { target } = await restoreTo({ selector });
    expect(lstatSync(target).mode & 0o7777).toBe(plain);
  }
  const target = join(directory, 'dry');
  await restoreTo({ selector: 'latest:source/home', target, dryRun: true });
  expect(lstatSync(target, { throwIfNoEntry: false })).toBeUndefined();
});

testNeeding(NO_ATTRIBUTE_TOOLS)(
  `a new target has the attributes of the directory, and not the ACL of the one above it`,
  async () => {
    const { directory, restore: restoreTo } = await makeSaved({
      prepare: (home) => runTool('setfattr', '-n', 'user.kept', '-v', 'x', home),
    });
    const outer = join(directory, 'outer');
    mkdirSync(outer);
    runTool('setfacl', '-d', '-m', 'u:65534:rwx', outer);
    const target = join(outer, 'target');
    await restoreTo({ selector: 'latest:source/home', target });
    const dump = runTool('getfattr', '-R', '-d', '-m', '-', '--absolute-names', target);
    expect(dump).toContain('user.kept');
    expect(dump).not.toContain('posix_acl');
  },
);

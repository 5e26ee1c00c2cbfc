import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { OverwriteMode } from '../../src/verbs/restore/restore.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { NEEDS_ROOT, giveToNobody, isRoot, withoutPrivileges } from '../support/unprivileged.ts';

const MODES: readonly OverwriteMode[] = ['never', 'if-changed', 'if-newer', 'always'];

describe('symlinks, FIFOs, sockets and devices', () => {
  /** What `find` says of each name below: kind, mode, target of a symlink, device numbers. */
  function kindsIn(directory: string): Record<string, string> {
    return Object.fromEntries(
      readdirSync(directory)
        .toSorted()
        .map((name) => {
          const stats = lstatSync(join(directory, name));
          return [
            name,
            [stats.mode.toString(8), stats.rdev, stats.isSymbolicLink() && readlinkSync(join(directory, name))].join(
              ' ',
            ),
          ];
        }),
    );
  }

  async function listen(path: string): Promise<void> {
    const server = createServer().listen(path);
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
  }

  it.each(MODES)('stay over a live tree, with --overwrite %s', async (overwrite) => {
    const repository = await makeTestRepository();
    const path = (name: string): string => join(repository.source, name);
    spawnSync('mkfifo', [path('fifo')]);
    symlinkSync('somewhere', path('link'));
    await listen(path('socket'));
    const makesDevices = isRoot && canMakeDevice(path('device'));
    expect((await repository.backup()).socketCount).toBe(1);
    const before = kindsIn(repository.source);
    const live = await repository.restore({ target: repository.directory, overwrite });
    expect(live).toMatchObject({ exitCode: 0, problems: [], filesKept: 0 });
    expect(kindsIn(repository.source)).toEqual(before);
    const { target, exitCode, othersRestored, socketsSkipped } = await repository.restore({ overwrite });
    expect(socketsSkipped).toBe(1);
    const { socket, ...others } = before;
    expect(socket).toBeDefined();
    expect(kindsIn(join(target, 'source'))).toEqual(others);
    expect([exitCode, othersRestored]).toEqual([0, makesDevices ? 3 : 2]);
    expect((await repository.restore({ overwrite, dryRun: true })).othersRestored).toBe(makesDevices ? 3 : 2);
  });

  it('a device that cannot be made does not cost what has its name', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository();
    skip(!canMakeDevice(join(repository.source, 'device')), 'no device can be made here, not even by root');
    await repository.backup();
    const target = join(repository.directory, 'target');
    mkdirSync(join(target, 'source'), { recursive: true });
    writeFileSync(join(target, 'source', 'device'), 'mine');
    giveToNobody(repository.directory);
    const result = await withoutPrivileges(async () => await repository.restore({ target, overwrite: 'always' }));
    expect(result).toMatchObject({ exitCode: 3, problems: [{ path: 'source/device', code: 'SKIPPED' }] });
    expect(readFileSync(join(target, 'source', 'device'), 'utf8')).toBe('mine');
  });

  it.each(['if-changed', 'always'] as const)('replace what has their name, with --overwrite %s', async (overwrite) => {
    const repository = await makeTestRepository();
    symlinkSync('right', join(repository.source, 'link'));
    spawnSync('mkfifo', [join(repository.source, 'fifo')]);
    await repository.backup();
    const target = join(repository.directory, 'target');
    mkdirSync(join(target, 'source'), { recursive: true });
    symlinkSync('wrong', join(target, 'source', 'link'));
    writeFileSync(join(target, 'source', 'fifo'), 'mine');
    expect((await repository.restore({ target, overwrite })).problems).toEqual([]);
    expect(kindsIn(join(target, 'source'))).toEqual(kindsIn(repository.source));
  });

  it('get their several names back, all of them or the one that was lost', async () => {
    const repository = await makeTestRepository();
    const path = (name: string): string => join(repository.source, name);
    mkdirSync(path('sub'));
    symlinkSync('nowhere', path('link'));
    spawnSync('mkfifo', [path('fifo')]);
    const names = ['link', 'fifo'];
    if (isRoot && canMakeDevice(path('device'))) names.push('device');
    for (const name of names) linkSync(path(name), path(`sub/${name}`));
    await repository.backup();
    const { target, problems, othersRestored } = await repository.restore();
    expect(problems).toEqual([]);
    expect(othersRestored).toBe(names.length * 2);
    const inodeOf = (name: string): number => lstatSync(join(target, 'source', name)).ino;
    const expectLinked = (): void => {
      for (const name of names) expect(inodeOf(name), name).toBe(inodeOf(`sub/${name}`));
      expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
    };
    expectLinked();
    for (const name of names) rmSync(join(target, 'source', 'sub', name));
    await repository.restore({ target, overwrite: 'if-changed' });
    expectLinked();
    await repository.restore({ target, overwrite: 'always' });
    expectLinked();
  });
});

/** Containers often forbid it even to root. */
function canMakeDevice(path: string): boolean {
  return spawnSync('mknod', [path, 'c', '1', '3']).status === 0;
}

it('what cannot be looked at is reported, and the rest is restored', async ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'sub'));
  for (const name of ['sub/inner', 'z']) writeFileSync(join(repository.source, name), name);
  await repository.backup();
  const target = join(repository.directory, 'target');
  const locked = join(target, 'source', 'sub');
  mkdirSync(locked, { recursive: true });
  giveToNobody(repository.directory);
  // One of our own would be opened for the time of the restore.
  chownSync(locked, 0, 0);
  chmodSync(locked, 0o600);
  const { problems, exitCode } = await withoutPrivileges(async () => repository.restore({ target }));
  expect(problems.map(({ path, code }) => [path, code])).toContainEqual(['source/sub/inner', 'TARGET']);
  expect(exitCode).toBe(3);
  expect(readFileSync(join(target, 'source', 'z'), 'utf8')).toBe('z');
});

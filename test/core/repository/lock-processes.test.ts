import { execFileSync, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { RepositoryLockedError } from '../../../src/core/errors.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { compileForChild } from '../../support/compile-for-child.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { NEEDS_ROOT, isRoot } from '../../support/unprivileged.ts';

let childProgram: string;
let directory: string;
let backend: LocalBackend;

beforeAll(async () => {
  const compiled = await compileForChild(join(import.meta.dirname, '../../support/lock-child.ts'));
  childProgram = compiled.path;
  return () => compiled.remove();
});

beforeEach(() => {
  directory = memoryDirectory();
  mkdirSync(join(directory, 'locks'));
  backend = new LocalBackend(directory);
});

function startChild(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [childProgram, directory, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** A child that holds the lock by now. */
async function startHolder(mode: string): Promise<ChildProcess> {
  const child = startChild('hold', mode);
  if (child.stdout === null) throw new Error('no output');
  const [output] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown];
  expect(String(output)).toBe('held\n');
  return child;
}

async function killHard(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

describe('another process', () => {
  test('keeps the lock while it runs and is named, and gives it back', async () => {
    const child = await startHolder('exclusive');
    const attempt = RepositoryLock.acquire(backend, { mode: 'shared' });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
    await expect(attempt).rejects.toThrow(`process ${child.pid} on host`);
    const ended = once(child, 'exit');
    child.stdin?.end();
    await ended;
    expect(readdirSync(join(directory, 'locks'))).toEqual([]);
    await (await RepositoryLock.acquire(backend, { mode: 'exclusive' })).release();
  });

  test.each(['shared', 'exclusive'])('leaves no lock behind when its %s one dies with it', async (mode) => {
    await killHard(await startHolder(mode));
    expect(readdirSync(join(directory, 'locks'))).toHaveLength(1);
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    expect(readdirSync(join(directory, 'locks'))).toHaveLength(1);
    await lock.release();
    expect(readdirSync(join(directory, 'locks'))).toEqual([]);
  });

  test('is waited for', async () => {
    const child = await startHolder('exclusive');
    const holders: string[] = [];
    const lock = await RepositoryLock.acquire(backend, {
      mode: 'exclusive',
      waitMs: 60_000,
      onWait: (holder) => {
        holders.push(holder);
        child.stdin?.end();
      },
    });
    await lock.assertHeld();
    await lock.release();
    expect(holders).toEqual([expect.stringContaining(`process ${child.pid} `)]);
  });

  test('shares a shared lock', async () => {
    await startHolder('shared');
    const lock = await RepositoryLock.acquire(backend, { mode: 'shared' });
    await expect(RepositoryLock.acquire(backend, { mode: 'exclusive' })).rejects.toThrow(RepositoryLockedError);
    await lock.release();
  });
});

test('processes that race for the exclusive lock never have it at the same time, and all get it', async () => {
  const racers = [startChild('race', '60'), startChild('race', '60'), startChild('race', '60')];
  const exits = await Promise.all(racers.map(async (racer) => once(racer, 'exit')));
  expect(exits).toEqual([
    [0, null],
    [0, null],
    [0, null],
  ]);
});

test('a process whose /proc shows another pid namespace is not taken for dead', ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const command = ['--pid', '--fork', process.execPath, childProgram, directory, 'lock-twice'];
  const result = spawnSync('unshare', command, { encoding: 'utf8' });
  skip(result.status !== 0, 'no pid namespace can be made here (unshare)');
  expect(result.stdout).toBe('kept out\n');
});

test('a lock needs no free byte on the disk', async ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const disk = join(directory, 'disk');
  mkdirSync(disk);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
  skip(mounted.status !== 0, 'no tmpfs can be mounted here, not even by root');
  onTestFinished(() => void execFileSync('umount', [disk]));
  mkdirSync(join(disk, 'locks'));
  expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(100_000))).toThrow('ENOSPC');
  expect(() => writeFileSync(join(disk, 'one-byte'), 'x')).toThrow('ENOSPC');
  rmSync(join(disk, 'one-byte'));

  const lock = await RepositoryLock.acquire(new LocalBackend(disk), { mode: 'exclusive' });
  await lock.assertHeld();
  expect(readdirSync(join(disk, 'locks'))).toHaveLength(1);
  await lock.release();
});

import { closeSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { RepositoryLockedError } from '../../src/core/errors.ts';
import { RepositoryLock } from '../../src/core/repository/locks/lock.ts';
import type { LockMode } from '../../src/core/repository/locks/lock.ts';

// A child process of the lock tests: lock-child.js <repository> <action> [<mode or count>]
const [directory = '', action = '', argument = ''] = process.argv.slice(2);
const backend = new LocalBackend(directory);

/** Takes the lock, says so, and keeps it until stdin ends or the process is killed. */
async function hold(mode: LockMode): Promise<void> {
  const lock = await RepositoryLock.acquire(backend, { mode });
  say('held');
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once('end', resolve));
  await lock.release();
}

/** Takes the exclusive lock again and again; a marker file shows if anybody else has it at the same time. */
async function race(count: number): Promise<void> {
  const marker = join(directory, 'marker');
  for (let round = 0; round < count; round += 1) {
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive', waitMs: 300_000 });
    closeSync(openSync(marker, 'wx'));
    await new Promise((resolve) => setImmediate(resolve));
    await lock.assertHeld();
    unlinkSync(marker);
    await lock.release();
  }
  say('raced');
}

/** Whether a process that holds the lock is kept out of it itself. */
async function lockTwice(): Promise<void> {
  const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
  const second = RepositoryLock.acquire(backend, { mode: 'exclusive' });
  say(
    await second.then(
      () => 'got both',
      (error: unknown) => (error instanceof RepositoryLockedError ? 'kept out' : String(error)),
    ),
  );
  await lock.release();
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

if (action === 'hold') await hold(argument === 'shared' ? 'shared' : 'exclusive');
if (action === 'race') await race(Number(argument));
if (action === 'lock-twice') await lockTwice();

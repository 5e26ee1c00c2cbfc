import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

import { ServerEndedError } from './free-port.ts';
import { waitUntil } from './wait-until.ts';

/** How a server is started, and how it says on stderr that it works. */
interface DaemonOptions extends Pick<SpawnOptions, 'uid' | 'gid'> {
  readonly ready: string;
  /** Ends it without waiting for others. */
  readonly signal?: NodeJS.Signals;
}

/** Starts a server that stays in the foreground, and waits until it works. The test ends it. */
export async function startDaemon(
  [program, ...args]: readonly string[],
  { ready, signal = 'SIGTERM', ...options }: DaemonOptions,
): Promise<void> {
  const child = spawn(program!, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let messages = '';
  let hasEnded = false;
  child.once('error', ({ message }) => (messages += message));
  const ended = once(child, 'close').finally(() => (hasEnded = true));
  onTestFinished(async () => {
    child.kill(signal);
    await ended;
  });
  child.stderr.on('data', (bytes: Buffer) => (messages += bytes.toString()));
  await waitUntil(() => messages.includes(ready) || hasEnded, `the start of ${program}`);
  if (!messages.includes(ready)) throw new ServerEndedError(messages);
}

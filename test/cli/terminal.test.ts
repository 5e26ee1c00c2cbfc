import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { runLdm } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { makeEndlessHome } from './endless-backup.ts';
import { RUN_TIMEOUT_MS, startLdmOnLostTerminal, startLdmOnTerminal } from './start-ldm.ts';
import type { RunningLdm } from './start-ldm.ts';

const ASK_INTERVAL_MS = 100;

const hasScript = spawnSync('script', ['--version']).status === 0;

// oxlint-disable-next-line no-control-regex -- escape sequences are what this is about
const COLOUR = /\u001b\[3\dm/;
// oxlint-disable-next-line no-control-regex -- as above, and bold or dim text
const STYLE = /\u001b\[[\d;]*m/;
// oxlint-disable-next-line no-control-regex -- the spinner clears its line
const SPINNER = /\u001b\[1G.*1 (?:file|of 2 files), [\d.]+ (?:[KMGT]i)?B/;
/** By then some of the endless file may have been read. */
const STATUS = /files?_done|1 (?:file|of 2 files), [\d.]+ (?:[KMGT]i)?B/;

/** Returns all that an interrupted backup has written. */
async function watchBackup(
  args: readonly string[],
  until: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const home = makeEndlessHome();
  const running = startLdmOnTerminal(['backup', join(home, 'work'), ...args], { home, env });
  const pid = Number(/pid (\d+)/.exec(await running.stdoutMatching(/pid \d+\r?\n/))![1]);
  if (args.length > 0) await askUntil(running, pid, until);
  await running.stdoutMatching(until);
  process.kill(pid, 'SIGINT');
  expect((await running.ended).code).toBe(130);
  return running.stdoutMatching(/interrupted by SIGINT/);
}

/** Asks again and again: the first answer may come before the first file is saved. */
async function askUntil(running: RunningLdm, pid: number, until: RegExp): Promise<void> {
  // Before that the program may not listen yet, and the signal belongs to Node's inspector.
  await running.stdoutMatching(/created repository|initialized/);
  const timer = setInterval(() => process.kill(pid, 'SIGUSR1'), ASK_INTERVAL_MS);
  try {
    await running.stdoutMatching(until);
  } finally {
    clearInterval(timer);
  }
}

// oxlint-disable-next-line no-control-regex -- as above
const STARTING = /\u001b\[1G.* starting/;

/** A home with an encrypted repository whose password comes through a pipe, so that a backup waits for it. */
async function makeWaitingHome(): Promise<{
  readonly home: string;
  readonly place: string;
  readonly run: () => RunningLdm;
}> {
  const home = memoryDirectory();
  const place = join(home, 'repository');
  mkdirSync(join(home, 'work'));
  writeFileSync(join(home, 'work', 'file'), 'content');
  const created = await runLdm(['-r', place, 'init'], { env: { HOME: home, LDM_PASSWORD: 'secret' } });
  expect(created.code).toBe(0);
  expect(spawnSync('mkfifo', [join(home, 'fifo')]).status).toBe(0);
  const args = ['-r', place, '--password-file', join(home, 'fifo'), 'backup', join(home, 'work')];
  return { home, place, run: () => startLdmOnTerminal(args, { home }) };
}

describe('on a terminal', () => {
  beforeEach(({ skip }) => skip(!hasScript, 'script (of util-linux) is not installed'));

  it('a spinner shows how far a backup is, and the cursor comes back', async () => {
    const text = await watchBackup([], SPINNER);
    expect(text).toMatch(COLOUR);
    expect(text).toContain('\u001b[?25h');
  });

  it('the spinner is there before the repository is opened, and finishes at the end', async () => {
    const { home, run, place } = await makeWaitingHome();
    const running = run();
    // The password comes only afterwards.
    await running.stdoutMatching(STARTING);
    writeFileSync(join(home, 'fifo'), 'secret');
    expect((await running.ended).code).toBe(0);
    const text = await running.stdoutMatching(/snapshot [0-9a-f]{8} saved/);
    expect(text).not.toMatch(/100 %|0:00 left/);
    expect(readdirSync(join(place, 'snapshots'))).toHaveLength(1);
  });

  it('NO_COLOR takes the colours away from everything', async () => {
    const text = await watchBackup([], SPINNER, { NO_COLOR: '1' });
    expect(text).not.toMatch(STYLE);
  });

  it('a terminal that goes away ends a backup with exit 129, not with an abort', async () => {
    const home = makeEndlessHome();
    const codeFile = join(home, 'code');
    const running = startLdmOnLostTerminal(['backup', join(home, 'work')], { home, codeFile });
    await running.stdoutMatching(SPINNER);
    running.child.kill('SIGKILL');
    await vi.waitFor(() => expect(readFileSync(codeFile, 'utf8')).toBe('code 129\n'), { timeout: RUN_TIMEOUT_MS });
    expect(readdirSync(join(home, '.local/share/ldm/repository/locks'))).toEqual([]);
  });

  it.each(['--no-progress', '--json'])('%s takes the spinner away', async (option) => {
    expect(await watchBackup([option], STATUS)).not.toMatch(SPINNER);
  });
});

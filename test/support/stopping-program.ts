import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { onTestFinished } from 'vitest';

import type { RunLdmOptions } from './run-ldm.ts';
import { waitUntil } from './wait-until.ts';

/** Calls of `node:fs` before which programs stop. */
const STOPS = {
  /** The lock file exists, and the program looks for those of others. */
  locked: '^readdirSync .*/locks$',
  /** Everything that the new snapshot needs is stored. */
  'snapshot ready': '^(linkSync|renameSync) .*/snapshots/[0-9a-f]{64}$',
  /** The snapshot was chosen and measured. */
  'delete ready': '^renameSync .*/snapshots/.*/deleted/',
};

/** A program that stops itself, so that whatever happens until it goes on certainly happens meanwhile. */
export interface StoppingProgram {
  /** To start it with. */
  readonly options: Pick<RunLdmOptions, 'env' | 'onStart'>;
  readonly stopped: () => Promise<void>;
  readonly goOn: () => void;
}

export type Stop = keyof typeof STOPS;

export function stoppingProgram(stop: Stop): StoppingProgram {
  let pid = 0;
  let goesOn = false;
  const preload = pathToFileURL(join(import.meta.dirname, 'stop-before.mjs')).href;
  const send = (signal: NodeJS.Signals): void => {
    if (pid > 0 && !goesOn) process.kill(pid, signal);
    goesOn = true;
  };
  // A stopped program would be left behind.
  onTestFinished(() => send('SIGKILL'));
  return {
    options: {
      env: { NODE_OPTIONS: `--import ${preload}`, TEST_STOP_BEFORE: STOPS[stop] },
      onStart: (started) => void (pid = started),
    },
    stopped: async () => {
      // If the program has ended instead, there is no such file.
      await waitUntil(() => pid > 0 && isStopped(pid), `the stop before "${stop}"`);
    },
    goOn: () => send('SIGCONT'),
  };
}

function isStopped(pid: number): boolean {
  return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

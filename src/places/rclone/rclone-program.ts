import type { ChildProcessByStdio } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

import { startProgram } from '../../core/util/programs.ts';
import { usesKeysOfAmazon } from './rclone-keys.ts';
import { StoreError } from '../objects/object-store.ts';
import { RcloneMessages } from './rclone-messages.ts';

/** How a program has ended. */
interface ProgramEnd {
  /** Null if a signal has ended it. */
  readonly code: number | null;
  /** Undefined if it could be started. */
  readonly startError: NodeJS.ErrnoException | undefined;
  /** What it has said, or how it ended. */
  readonly reason: string;
}

const CLOSE_MS = 2000;
/** As a shell says that it has not found a program. */
const NOT_FOUND = 127;

/** A running rclone, or the program that was named instead. */
export class RcloneProgram {
  /** What it prints. It is a socket, and so can be its input too: `exec "$0" "$@" <&1`. */
  readonly stdout: Socket;
  readonly messages: RcloneMessages = new RcloneMessages();
  /** Never rejected. */
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;

  /**
   * It runs in a session of its own, because Ctrl+C goes to all programs of a terminal, and rclone handles it even if it
   * is started with the signal ignored. But ldm needs rclone to release its lock. It ends when its input does.
   */
  constructor(words: readonly string[]) {
    const child = startProgram(words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...environment(words),
    }) as ChildProcessByStdio<null, Readable, Readable>;
    this.#child = child;
    this.stdout = child.stdout as Socket;
    // Without a listener, it would end ldm. The end of the program tells what has happened.
    this.stdout.on('error', () => undefined);
    child.stderr.on('data', (bytes: Buffer) => this.messages.add(bytes.toString()));
    this.ended = new Promise((resolve) => {
      let startError: Error | undefined;
      child.on('error', (error) => {
        startError = error;
      });
      child.on('close', (code, signal) => {
        const end = signal === null ? `rclone ended with exit code ${code}` : `rclone was ended by ${signal}`;
        const said = this.messages.last();
        resolve({ code, startError, reason: startError?.message ?? (code === 0 ? end : (said ?? end)) });
      });
    });
  }

  /** Ends it and what it has started, so that nothing more is written. */
  kill(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  /** Ends its input, and waits until it has ended. */
  async close(): Promise<void> {
    this.stdout.end();
    const killing = setTimeout(() => this.kill(), CLOSE_MS);
    await this.ended;
    clearTimeout(killing);
  }
}

/** Returns the error for a program that has ended although it should not. */
export function endError({ code, startError, reason }: ProgramEnd, remote: string): StoreError {
  if (startError?.code === 'ENOENT' || code === NOT_FOUND) {
    return new StoreError('the program rclone was not found', {
      kind: 'other',
      isAnswer: false,
      hint: 'Install rclone 1.60 or later, or name its path.',
      cause: startError,
    });
  }
  const hint = `See whether \`rclone lsf ${remote}\` works. Then run the command again.`;
  return new StoreError(reason, { kind: startError === undefined ? 'transient' : 'other', isAnswer: false, hint });
}

function environment(words: readonly string[]): Pick<Parameters<typeof startProgram>[1], 'variables' | 'needs'> {
  const variables: NodeJS.ProcessEnv = {
    // Otherwise, what is removed from B2 is only hidden and never gives its space back. As restic does it.
    RCLONE_B2_HARD_DELETE: process.env['RCLONE_B2_HARD_DELETE'] ?? 'true',
    RCLONE_VERBOSE: undefined,
    RCLONE_QUIET: undefined,
    RCLONE_USE_JSON_LOG: undefined,
    // Why a file cannot be opened is a detail to rclone.
    RCLONE_LOG_LEVEL: 'DEBUG',
  };
  return { variables, needs: usesKeysOfAmazon(words, process.env) ? ['rclone', 'aws'] : ['rclone'] };
}

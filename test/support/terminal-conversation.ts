import { spawn, spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

/** Against a program that hangs. */
const TERMINAL_TIMEOUT_MS = 300_000;

/** Whether `script` of util-linux is installed, which has the terminal. */
export const hasTerminal: boolean = spawnSync('script', ['--version']).status === 0;

export interface Conversation {
  /** All that the terminal has shown. */
  readonly shown: () => string;
  /** Waits until the terminal shows this after what was awaited before. */
  readonly until: (text: string) => Promise<void>;
  readonly type: (keys: string) => void;
  readonly ended: Promise<number | null>;
}

/**
 * Runs a command on a terminal of 100 columns, where stdout and stderr are one. The shell says at its end whether the
 * terminal shows what is typed: `after: echo`.
 */
export function converse(commandLine: string, env: NodeJS.ProcessEnv = process.env): Conversation {
  const script = `stty cols 100 echo icanon; ${commandLine}; code=$?; stty -a | grep -o -- '-\\?\\becho\\b' | sed 's/^/after: /'; exit $code`;
  const child = spawn('script', ['-qefc', script, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: TERMINAL_TIMEOUT_MS,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  let position = 0;
  let look = (): void => undefined;
  child.stdout.on('data', (bytes: Buffer) => {
    text += bytes.toString();
    look();
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const until = async (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      look = () => {
        const at = text.indexOf(wanted, position);
        if (at < 0) return;
        position = at + wanted.length;
        look = () => undefined;
        resolve();
      };
      look();
      void ended.then(() => reject(new Error(`not shown: ${wanted}, but ${JSON.stringify(text)}`)));
    });
  return { shown: () => text, until, type: (keys) => void child.stdin.write(keys), ended };
}

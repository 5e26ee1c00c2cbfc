import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { startLdm } from '../cli/start-ldm.ts';
import type { RunningLdm } from '../cli/start-ldm.ts';

const CAP_SYS_ADMIN = 1n << 21n;

/** Why nothing can be mounted here; undefined if it can. */
export const fuseProblem: string | undefined = findProblem();

function findProblem(): string | undefined {
  if (spawnSync('fusermount3', ['-V']).status !== 0) return 'fusermount3 is not installed';
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    return 'this user cannot use /dev/fuse';
  }
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '0';
  const mayMount = process.geteuid?.() !== 0 || (BigInt(`0x${capabilities}`) & CAP_SYS_ADMIN) !== 0n;
  return mayMount ? undefined : 'root may not mount in this container';
}

/** A running `ldm mount`. It is ended when the test is over, which unmounts. */
export interface MountedLdm extends RunningLdm {
  readonly directory: string;
  /** Ends it by a signal, and returns its exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
  /** What it has said so far on stdout and stderr. */
  readonly output: () => string;
  readonly problems: () => string;
}

/** Mounts a repository with the built program, in a process of its own: this one must be free to use the mount. */
export async function mountRepository(
  directory: string,
  options: {
    readonly args?: readonly string[];
    readonly repository?: string;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<MountedLdm> {
  const { args = [], repository = join(directory, 'repository'), env = {} } = options;
  const mountPoint = join(directory, 'mnt');
  mkdirSync(mountPoint, { recursive: true });
  const running = startLdm(['-r', repository, 'mount', ...args, mountPoint], { home: directory, env });
  let [output, problems] = ['', ''];
  running.child.stdout!.on('data', (bytes: Buffer) => (output += bytes.toString()));
  running.child.stderr!.on('data', (bytes: Buffer) => (problems += bytes.toString()));
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.ended;
    // Nothing is left there, unless the test failed.
    if (isMounted(mountPoint)) spawnSync('fusermount3', ['-u', '-z', '--', mountPoint]);
  });
  await running.stdoutMatching(/mounted/);
  const stop = async (signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> => {
    running.child.kill(signal);
    return (await running.ended).code;
  };
  return { ...running, directory: mountPoint, stop, output: () => output, problems: () => problems };
}

export function isMounted(directory: string): boolean {
  return readFileSync('/proc/self/mounts', 'utf8').includes(` ${directory} fuse.ldm `);
}

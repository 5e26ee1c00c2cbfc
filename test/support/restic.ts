import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { RESTIC_PASSWORD, makeResticRepository } from './make-restic-repository.ts';

export const hasRestic: boolean = spawnSync('restic', ['version']).status === 0;

/** A repository of the real restic. */
export interface Restic {
  readonly run: (args: readonly string[], cwd?: string) => string;
}

export function initRestic(directory: string, environment: NodeJS.ProcessEnv = {}): Restic {
  const run = (args: readonly string[], cwd?: string): string => {
    const { status, stdout, stderr } = spawnSync('restic', ['--no-cache', '-r', join(directory, 'restic'), ...args], {
      env: { PATH: process.env['PATH'], HOME: directory, RESTIC_PASSWORD, ...environment },
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      cwd,
    });
    if (status !== 0) throw new Error(`restic ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  makeResticRepository(join(directory, 'restic'));
  return { run };
}

/**
 * The paths that restic would save with these options and arguments, relative to `root`: directories end with a slash.
 * Those above `root` are left out.
 */
export function resticSelection({ run }: Restic, root: string, args: readonly string[], cwd?: string): string[] {
  const messages = run(['backup', '--dry-run', '-vv', '--json', ...args], cwd)
    .trim()
    .split('\n');
  return messages
    .map((line) => JSON.parse(line) as { action?: string; item?: string })
    .filter(({ action, item }) => action === 'new' && item?.startsWith(`${root}/`) === true)
    .map(({ item }) => item!.slice(root.length + 1))
    .filter((path) => path !== '')
    .toSorted();
}

import { join } from 'node:path';
import type { Command, Tool } from '../bench-types.ts';
import { versionOf } from '../measure.ts';

/** restic as it comes, with its cache beside its repository. It always encrypts; that cannot be turned off. */
export function findRestic(): Tool | undefined {
  const version = versionOf('restic', ['version']);
  if (version === undefined) return undefined;
  const repositoryOf = (state: string): string => join(state, 'repository');
  const restic = (state: string, args: readonly string[], cwd?: string): Command[] => [
    {
      file: 'restic',
      args: ['-q', '-r', repositoryOf(state), ...args],
      env: { RESTIC_PASSWORD: 'benchmark', RESTIC_CACHE_DIR: join(state, 'cache'), RESTIC_PROGRESS_FPS: '' },
      ...(cwd === undefined ? {} : { cwd }),
    },
  ];
  return {
    name: 'restic',
    version,
    kind: 'backup',
    repositoryOf,
    initialize: (state) => restic(state, ['init']),
    backup: (state, { source }) => restic(state, ['backup', '.'], source),
    restore: (state, { target }) => restic(state, ['restore', 'latest', '--target', target]),
    restoredRoot: (target) => target,
    deleteAndReclaim: (state) => restic(state, ['forget', 'latest', '--prune']),
    check: (state) => restic(state, ['check', '--read-data']),
  };
}

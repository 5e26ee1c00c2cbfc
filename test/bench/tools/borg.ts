import { join } from 'node:path';
import type { Command, Tool } from '../bench-types.ts';
import { versionOf } from '../measure.ts';

/** BorgBackup without encryption, once for each compression that its users choose. */
export function findBorgs(): Tool[] {
  const version = versionOf('borg', ['--version']);
  return version === undefined ? [] : ['lz4', 'zstd,3'].map((compression) => createBorg(version, compression));
}

function createBorg(version: string, compression: string): Tool {
  const repositoryOf = (state: string): string => join(state, 'repository');
  const borg = (state: string, args: readonly string[], cwd?: string): Command => ({
    file: 'borg',
    args,
    env: {
      BORG_BASE_DIR: join(state, 'base'),
      BORG_REPO: repositoryOf(state),
      BORG_RELOCATED_REPO_ACCESS_IS_OK: 'yes',
      BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK: 'yes',
    },
    ...(cwd === undefined ? {} : { cwd }),
  });
  return {
    name: `borg ${compression}`,
    version,
    kind: 'backup',
    repositoryOf,
    initialize: (state) => [borg(state, ['init', '--encryption', 'none'])],
    backup: (state, { source, label }) => [
      borg(state, ['create', '--compression', compression, `::${label}`, '.'], source),
    ],
    restore: (state, { target, label }) => [borg(state, ['extract', `::${label}`], target)],
    restoredRoot: (target) => target,
    deleteAndReclaim: (state, label) => [borg(state, ['delete', `::${label}`]), borg(state, ['compact'])],
    check: (state) => [borg(state, ['check', '--verify-data'])],
  };
}

import { join } from 'node:path';
import type { Command, Tool } from '../bench-types.ts';
import { versionOf } from '../measure.ts';

/** tar piped into zstd: what reading and compressing alone cost, without looking for anything twice. */
export function findFloors(): Tool[] {
  const version = versionOf('zstd', ['--version']);
  if (version === undefined || versionOf('tar', ['--version']) === undefined) return [];
  return [3, 1].map((level) => createFloor(version, level));
}

function createFloor(version: string, level: number): Tool {
  const archiveOf = (state: string): string => join(state, 'repository', 'archive.tar.zst');
  const shell = (script: string, args: readonly string[]): Command => ({
    file: 'bash',
    args: ['-c', `set -eo pipefail; ${script}`, 'bash', ...args],
  });
  return {
    name: `tar + zstd -${level}`,
    version,
    isFloor: true,
    repositoryOf: (state) => join(state, 'repository'),
    initialize: (state) => [shell('mkdir -p "$1"', [join(state, 'repository')])],
    backup: (state, { source }) => [
      shell(`tar -C "$1" -cf - . | zstd -q -f -${level} -T2 -o "$2"`, [source, archiveOf(state)]),
    ],
    restore: (state, { target }) => [shell('zstd -q -d -c "$1" | tar -C "$2" -xpf -', [archiveOf(state), target])],
    restoredRoot: (target) => target,
  };
}

import { join } from 'node:path';
import type { Command, Tool } from '../bench-types.ts';
import { versionOf } from '../measure.ts';

/** What no backup tool can do without: tar piped into zstd for a backup, and that unpacked or `cp -a` for a restore. */
export function findFloors(): Tool[] {
  return [...findArchivers(), ...findCopier()];
}

function findArchivers(): Tool[] {
  const version = versionOf('zstd', ['--version']);
  if (version === undefined || versionOf('tar', ['--version']) === undefined) return [];
  return [3, 1].map((level) => createArchiver(version, level));
}

function createArchiver(version: string, level: number): Tool {
  const archiveOf = (state: string): string => join(state, 'repository', 'archive.tar.zst');
  const shell = (script: string, args: readonly string[]): Command => ({
    file: 'bash',
    args: ['-c', `set -eo pipefail; ${script}`, 'bash', ...args],
  });
  return {
    name: `tar + zstd -${level}`,
    version,
    kind: 'archive',
    repositoryOf: (state) => join(state, 'repository'),
    initialize: (state) => [shell('mkdir -p "$1"', [join(state, 'repository')])],
    backup: (state, { source }) => [
      shell(`tar -C "$1" -cf - . | zstd -q -f -${level} -T2 -o "$2"`, [source, archiveOf(state)]),
    ],
    restore: (state, { target }) => [shell('zstd -q -d -c "$1" | tar -C "$2" -xpf -', [archiveOf(state), target])],
    restoredRoot: (target) => target,
  };
}

/** Copies from the source itself, which takes no memory for a second copy of it. */
function findCopier(): Tool[] {
  const version = versionOf('cp', ['--version']);
  if (version === undefined) return [];
  const repositoryOf = (state: string): string => join(state, 'repository');
  const linkOf = (state: string): string => join(repositoryOf(state), 'source');
  return [
    {
      name: 'cp -a',
      version,
      kind: 'copy',
      repositoryOf,
      initialize: (state) => [{ file: 'mkdir', args: ['-p', repositoryOf(state)] }],
      backup: (state, { source }) => [{ file: 'ln', args: ['-s', source, linkOf(state)] }],
      restore: (state, { target }) => [{ file: 'cp', args: ['-a', `${linkOf(state)}/.`, target] }],
      restoredRoot: (target) => target,
    },
  ];
}

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command, Tool } from '../bench-types.ts';
import { versionOf } from '../measure.ts';

/** The built program of this checkout. */
export const ldmProgram: string = join(findProject(import.meta.dirname), 'bin', 'ldm.js');

/** The program without encryption, and with it. None while it is not built. */
export function findLdms(): Tool[] {
  const version = versionOf(process.execPath, [ldmProgram, 'version']);
  return version === undefined ? [] : [createLdm(version, false), createLdm(version, true)];
}

function createLdm(version: string, isEncrypted: boolean): Tool {
  const repositoryOf = (state: string): string => join(state, 'repository');
  const ldm = (state: string, args: readonly string[]): Command[] => [
    {
      file: process.execPath,
      args: [ldmProgram, '-r', repositoryOf(state), ...args],
      env: {
        HOME: state,
        XDG_CACHE_HOME: join(state, 'cache'),
        XDG_CONFIG_HOME: join(state, 'config'),
        XDG_DATA_HOME: join(state, 'data'),
        XDG_STATE_HOME: join(state, 'state'),
        ...(isEncrypted ? { LDM_PASSWORD: 'benchmark' } : {}),
      },
    },
  ];
  return {
    name: isEncrypted ? 'ldm, encrypted' : 'ldm',
    version,
    kind: 'backup',
    repositoryOf,
    initialize: (state) => ldm(state, isEncrypted ? ['init'] : ['init', '--no-encryption']),
    backup: (state, { source, label }) => ldm(state, ['backup', source, '--tag', label]),
    restore: (state, { target }) => ldm(state, ['restore', 'latest', '--target', target]),
    restoredRoot: (target, source) => join(target, basename(source)),
    deleteAndReclaim: (state, label) => ldm(state, ['delete', 'latest', '--tag', label]),
    check: (state) => ldm(state, ['check', '--read-data']),
  };
}

/** The benchmark runs from `test/` under vitest and from `build/test/` as a program. */
function findProject(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  if (dirname(directory) === directory) throw new Error('no package.json above the benchmark');
  return findProject(dirname(directory));
}

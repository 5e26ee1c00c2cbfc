import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { runLdmHere } from './run-ldm-here.ts';
import type { RunLdmResult } from './run-ldm.ts';
import { memoryDirectory } from './temp-directory.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A machine with a repository of one snapshot at the default place, and what it remembers of it. */
export interface Remembering {
  readonly directory: string;
  readonly repository: string;
  readonly env: Environment;
  readonly run: (args: readonly string[], env?: Environment) => Promise<RunLdmResult>;
  /** As `run`; fails unless the exit code is 0 and nothing is said on stderr. */
  readonly runWell: (args: readonly string[], env?: Environment) => Promise<RunLdmResult>;
  /** Adds to the source and backs it up. Returns the id of the snapshot. */
  readonly backUp: () => Promise<string>;
  /** The paths of all that is remembered of encrypted repositories. */
  readonly memoryFiles: () => string[];
}

export async function makeRemembering(given: Environment = {}): Promise<Remembering> {
  const directory = memoryDirectory();
  const repository = join(directory, 'data', 'ldm', 'repository');
  const source = join(directory, 'source');
  mkdirSync(source);
  const env = {
    LDM_PASSWORD: 'secret',
    XDG_DATA_HOME: join(directory, 'data'),
    XDG_STATE_HOME: join(directory, 'state'),
    ...given,
  };
  const run: Remembering['run'] = async (args, other = {}) =>
    await runLdmHere(args, { cwd: directory, env: { ...env, ...other } });
  const runWell: Remembering['runWell'] = async (args, other) => {
    const result = await run(args, other);
    expect({ args, code: result.code, stderr: result.stderr }).toEqual({ args, code: 0, stderr: '' });
    return result;
  };
  const backUp = async (): Promise<string> => {
    appendFileSync(join(source, 'file'), 'more');
    const { stdout } = await runWell(['backup', 'source', '--json', '--no-progress']);
    return /"snapshot_id":"([0-9a-f]{64})"/.exec(stdout)![1]!;
  };
  await runWell(['init']);
  await backUp();
  const memory = join(directory, 'state', 'ldm', 'repositories');
  const memoryFiles = (): string[] =>
    (existsSync(memory) ? readdirSync(memory) : [])
      .filter((name) => name.endsWith('.json') && !name.startsWith('plain-'))
      .map((name) => join(memory, name));
  return { directory, repository, env, run, runWell, backUp, memoryFiles };
}

/** The files below a directory, with their bytes. */
export function contentsOf(directory: string): Map<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path, readFileSync(path, 'latin1')]));
}

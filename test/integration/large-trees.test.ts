import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { describeDeepTree, makeDeepTree, removeTree } from '../support/deep-tree.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

interface Limits {
  /** Of the JavaScript heap of each thread. */
  readonly heapMiB: number;
  readonly openFiles: number;
}

/** A repository and a way to run the program on it within limits; a run that fails gives its messages. */
async function makeLimited({ heapMiB, openFiles }: Limits): Promise<{
  readonly source: string;
  readonly target: string;
  readonly run: (...args: readonly string[]) => { readonly status: number | null; readonly stderr: string };
  /** In this process, and without the limits. */
  readonly runHere: (...args: readonly string[]) => Promise<{ readonly code: number | null; readonly stderr: string }>;
}> {
  const directory = memoryDirectory();
  const [source, target] = [join(directory, 'source'), join(directory, 'target')];
  mkdirSync(source);
  onTestFinished(() => removeTree(target));
  const node = [process.execPath, `--max-old-space-size=${heapMiB}`, ldmProgram, '-q'];
  const repository = join(directory, 'repository');
  const program = [...node, '-r', repository];
  const run = (...args: readonly string[]): { readonly status: number | null; readonly stderr: string } => {
    const limited = ['-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...program, ...args];
    const { status, stderr } = spawnSync('sh', limited, {
      encoding: 'utf8',
      env: cleanEnvironment({}),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return { status, stderr: stderr.slice(0, 2000) };
  };
  const runHere = async (...args: readonly string[]): Promise<RunLdmResult> => runLdmHere(['-r', repository, ...args]);
  expect(await runHere('init', '--no-encryption')).toMatchObject({ code: 0, stderr: '' });
  return { source, target, run, runHere };
}

const DONE = { status: 0, stderr: '' };

/** Their paths together have 2 GB in the soak, and 45 MB in the suite. */
const DEPTH = inSoak(4000, 600);
const NAME_COUNT = inSoak(100_000, 12_000);

interface Tree {
  readonly make: (directory: string) => void;
  /** Fails unless what was restored is what was made. */
  readonly compare: (restored: string, directory: string) => void;
}

const NESTED: Tree = {
  make: (directory) => makeDeepTree(directory, DEPTH),
  compare: (restored, directory) => {
    const expected = describeDeepTree(directory);
    expect(expected).toMatch(new RegExp(`^${DEPTH} levels`));
    expect(describeDeepTree(restored)).toBe(expected);
  },
};

const WIDE: Tree = {
  make: (directory) => {
    for (let index = 0; index < NAME_COUNT; index += 1) symlinkSync('nowhere', join(directory, `link-${index}`));
  },
  compare: (restored) => expect(readdirSync(restored)).toHaveLength(NAME_COUNT),
};

const TITLES = {
  nested: `${DEPTH} nested directories with long names`,
  wide: `a directory with ${NAME_COUNT} names`,
};
/** In the suite both are in one source: each command that is started takes longer than what it does. */
const CASES: readonly (readonly [string, number, readonly Tree[]])[] = inSoak(
  [
    [TITLES.nested, 96, [NESTED]],
    [TITLES.wide, 32, [WIDE]],
  ],
  [[`${TITLES.nested} and ${TITLES.wide}`, 20, [NESTED, WIDE]]],
);

describe.runIf(process.platform === 'linux')('within little memory', () => {
  it.each(CASES)('%s: saved, found unchanged, listed, checked, restored and deleted', async (_, heapMiB, trees) => {
    const { source, target, run, runHere } = await makeLimited({ heapMiB, openFiles: 256 });
    for (const [index, { make }] of trees.entries()) {
      mkdirSync(join(source, `${index}`));
      make(join(source, `${index}`));
    }
    expect(run('backup', source)).toEqual(DONE);
    expect(run('backup', source)).toEqual(DONE);
    if (trees.includes(WIDE)) expect(run('ls', `latest:source/${trees.indexOf(WIDE)}`)).toEqual(DONE);
    expect(run('check')).toEqual(DONE);
    expect(run('restore', 'latest', '--target', target)).toEqual(DONE);
    for (const [index, { compare }] of trees.entries()) {
      compare(join(target, 'source', `${index}`), join(source, `${index}`));
    }
    expect(run('delete', 'latest')).toEqual(DONE);
    expect(await runHere('check')).toMatchObject({ code: 0, stderr: '' });
  });
});

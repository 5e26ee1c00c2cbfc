import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { describeDeepTree, makeDeepTree, removeTree } from '../support/deep-tree.ts';
import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

interface Limits {
  /** Of the JavaScript heap of each thread. */
  readonly heapMiB: number;
  readonly openFiles: number;
}

/** A repository and a way to run the program on it within limits; a run that fails gives its messages. */
function makeLimited({ heapMiB, openFiles }: Limits): {
  readonly source: string;
  readonly target: string;
  readonly run: (...args: readonly string[]) => { readonly status: number | null; readonly stderr: string };
} {
  const directory = memoryDirectory();
  const [source, target] = [join(directory, 'source'), join(directory, 'target')];
  mkdirSync(source);
  onTestFinished(() => removeTree(target));
  const node = [process.execPath, `--max-old-space-size=${heapMiB}`, ldmProgram, '-q'];
  const program = [...node, '-r', join(directory, 'repository')];
  const run = (...args: readonly string[]): { readonly status: number | null; readonly stderr: string } => {
    const limited = ['-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...program, ...args];
    const { status, stderr } = spawnSync('sh', limited, {
      encoding: 'utf8',
      env: cleanEnvironment({}),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return { status, stderr: stderr.slice(0, 2000) };
  };
  expect(run('init', '--no-encryption')).toEqual({ status: 0, stderr: '' });
  return { source, target, run };
}

const DONE = { status: 0, stderr: '' };

describe.runIf(process.platform === 'linux')('within little memory', () => {
  const depth = inSoak(4000, 1000);
  it(`${depth} nested directories with long names are saved, found unchanged, checked, restored and deleted`, () => {
    // Their paths together have 2 GB in the soak, and 125 MB in the suite.
    const { source, target, run } = makeLimited({ heapMiB: inSoak(96, 40), openFiles: 256 });
    makeDeepTree(source, depth);
    expect(run('backup', source)).toEqual(DONE);
    expect(run('backup', source)).toEqual(DONE);
    expect(run('check')).toEqual(DONE);
    expect(run('restore', 'latest', '--target', target)).toEqual(DONE);
    expect(describeDeepTree(join(target, 'source'))).toBe(describeDeepTree(source));
    expect(describeDeepTree(source)).toMatch(new RegExp(`^${depth} levels`));
    expect(run('delete', 'latest')).toEqual(DONE);
    expect(run('check')).toEqual(DONE);
  });

  it('a directory with very many names is saved, found unchanged, listed, restored and deleted', () => {
    const { source, target, run } = makeLimited({ heapMiB: inSoak(32, 20), openFiles: 256 });
    const count = inSoak(100_000, 25_000);
    for (let index = 0; index < count; index += 1) symlinkSync('nowhere', join(source, `link-${index}`));
    expect(run('backup', source)).toEqual(DONE);
    expect(run('backup', source)).toEqual(DONE);
    expect(run('ls', 'latest')).toEqual(DONE);
    expect(run('check')).toEqual(DONE);
    expect(run('restore', 'latest', '--target', target)).toEqual(DONE);
    expect(readdirSync(join(target, 'source'))).toHaveLength(count);
    expect(run('delete', 'latest')).toEqual(DONE);
  });
});

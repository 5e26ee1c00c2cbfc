import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CancelledError } from '../../src/core/errors.ts';
import { createProgress } from '../../src/core/session/progress.ts';
import { listFiles } from '../../src/verbs/ls/ls.ts';
import { byteStringFromText } from '../../src/core/util/byte-string.ts';
import { pathOf } from '../../src/core/util/path-node.ts';
import type { PathNode } from '../../src/core/util/path-node.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { openFilesOf } from '../support/open-files.ts';
import { createPrng } from '../support/prng.ts';
import { ldmProgram } from '../support/run-ldm.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const KIB = 1024;

/** Calls `act` when the backup comes to the file. */
function whenItComesTo({ context }: TestRepository, path: string, act: () => void): void {
  const progress = createProgress();
  Object.defineProperty(progress, 'currentFile', {
    get: () => undefined,
    set: (current: PathNode) => {
      if (pathOf(current) === byteStringFromText(path)) act();
    },
  });
  Object.assign(context, { progress });
}

/** A directory with a path of about 3500 bytes, beyond which directories are held open. */
function makeDeepDirectory(root: string): string {
  let deep = root;
  while (deep.length < 3420) deep = join(deep, 'd'.repeat(Math.min(200, 3420 - deep.length)));
  mkdirSync(deep, { recursive: true });
  return deep;
}

it.runIf(process.platform === 'linux')('a deep tree is restored with few open files allowed', async () => {
  const repository = await makeTestRepository();
  const deep = join(repository.source, ...Array<string>(120).fill('d'));
  mkdirSync(deep, { recursive: true });
  for (let path = deep; path !== repository.source; path = dirname(path)) writeFileSync(join(path, 'file'), path);
  await repository.backup();
  const target = join(repository.directory, 'target');
  const program = [process.execPath, ldmProgram, '-r', join(repository.directory, 'repository')];
  const command = ['-c', 'ulimit -n 100; exec "$@"', 'sh', ...program, 'restore', 'latest', '--target', target];
  const { status, stderr } = spawnSync('sh', command, { encoding: 'utf8', timeout: 300_000 });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
});

describe('many small files', () => {
  it('and their other names come back whole, with more of them than are read ahead at a time', async () => {
    const repository = await makeTestRepository();
    const prng = createPrng(20261123);
    for (let index = 0; index < 1500; index += 1) {
      const directory = join(repository.source, `directory-${index % 7}`);
      mkdirSync(directory, { recursive: true });
      const file = join(directory, `file-${index}`);
      writeFileSync(file, prng.bytes(prng.int(16 * KIB)));
      if (index % 4 === 0) linkSync(file, join(repository.source, `link-${index}`));
      if (index % 97 === 0) writeFileSync(join(directory, `large-${index}`), prng.bytes(300 * KIB));
      if (index % 31 === 0) writeFileSync(join(directory, `empty-${index}`), '');
    }
    const { problems, summary } = await repository.backup();
    expect(problems).toEqual([]);
    // So much is worked on before threads start.
    expect(summary.dataAdded).toBeGreaterThan(9 << 20);
    await repository.expectRestored();
    await repository.expectClean();
    const again = await repository.backup();
    expect(again.summary).toMatchObject({ filesUnmodified: summary.filesNew, dataBlobs: 0 });
  });
});

describe('a file that has become something else since it was listed', () => {
  it('is saved as what it is now', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) writeFileSync(join(source, name), name);
    whenItComesTo(repository, 'source/a', () => {
      for (const name of ['b', 'c', 'd', 'e']) rmSync(join(source, name));
      symlinkSync('nowhere', join(source, 'b'));
      spawnSync('mkfifo', [join(source, 'c')]);
      mkdirSync(join(source, 'd'));
    });
    const { problems } = await repository.backup();
    // A directory has missed its turn, and is named; what is gone is no failure.
    expect(problems.map(({ path }) => path)).toEqual([join(source, 'd')]);
    Object.assign(repository.context, { progress: undefined });
    const types = new Map<string, string>();
    await listFiles(
      repository.context,
      { selector: 'latest', recursive: true },
      ({ path, entry }) => void types.set(path, entry.type),
    );
    expect([...types].slice(-4)).toEqual([
      ['source/a', 'file'],
      ['source/b', 'symlink'],
      ['source/c', 'fifo'],
      ['source/f', 'file'],
    ]);
    await repository.expectClean();
  });
});

describe('more directories below a very long path than a process may have open', () => {
  it('are all saved', async () => {
    const repository = await makeTestRepository();
    const deep = makeDeepDirectory(repository.source);
    for (let index = 0; index < 600; index += 1) mkdirSync(join(deep, `${'n'.repeat(100)}-${index}`));
    const command = `ulimit -n 256 && exec "$0" "$1" -r "$2" backup --json "$3"`;
    const repositoryPath = join(repository.directory, 'repository');
    const { status, stdout } = spawnSync(
      'sh',
      ['-c', command, process.execPath, ldmProgram, repositoryPath, repository.source],
      { encoding: 'utf8' },
    );
    expect(status, stdout).toBe(0);
    await repository.expectClean();
    expect(stdout).toMatch(/"dirs_new":6\d\d/);
  });

  it('are closed when the backup ends early', async () => {
    const repository = await makeTestRepository();
    const deep = makeDeepDirectory(repository.source);
    for (let index = 0; index < 100; index += 1) {
      const directory = join(deep, `${'n'.repeat(100)}-${index}`);
      mkdirSync(directory);
      writeFileSync(join(directory, 'file'), `${index}`);
    }
    const abort = new AbortController();
    let openCount = 0;
    const isHeld = (path: string): boolean => path.startsWith(deep);
    const first = join(deep.slice(repository.directory.length + 1), `${'n'.repeat(100)}-0`, 'file');
    whenItComesTo(repository, first, () => {
      openCount = openFilesOf(process.pid).filter(isHeld).length;
      abort.abort(new CancelledError('SIGINT'));
    });
    Object.assign(repository.context, { signal: abort.signal });
    await expect(repository.backup()).rejects.toThrow(CancelledError);
    expect(openCount).toBeGreaterThan(1);
    expect(openFilesOf(process.pid).filter(isHeld)).toEqual([]);
  });
});

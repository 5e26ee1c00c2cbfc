import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CancelledError, SnapshotNotFoundError } from '../../../src/core/errors.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import type { OverwriteMode } from '../../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository, TINY_CHUNKS } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const SMALL_BYTES = 3000;
const BIG_BYTES = 3_000_000;
/** Several blocks, so that it takes several steps to write it. */
const SEVERAL_BLOCKS_BYTES = 12_000_000;

async function makeSaved(bigBytes: number = BIG_BYTES): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  mkdirSync(join(repository.source, 'sub', 'deep'), { recursive: true });
  for (const [index, name] of ['a', 'big', 'sub/b', 'sub/deep/c'].entries()) {
    writeFileSync(join(repository.source, name), createPrng(index).bytes(name === 'big' ? bigBytes : SMALL_BYTES));
  }
  chmodSync(join(repository.source, 'big'), 0o600);
  await repository.backup();
  return repository;
}

function namesBelow(directory: string): string[] {
  return [...describeTree(directory).keys()].filter((path) => path !== '').toSorted();
}

describe('a part of a snapshot', () => {
  it.each<[string, string, string[]]>([
    ['a file: alone, directly below the target', 'source/sub/b', ['b']],
    ['a directory: what is in it', 'source/sub', ['b', 'deep', 'deep/c']],
    ['with slashes about it', 'source//./sub/', ['b', 'deep', 'deep/c']],
    [
      'the whole',
      '',
      ['source', 'source/a', 'source/big', 'source/sub', 'source/sub/b', 'source/sub/deep', 'source/sub/deep/c'],
    ],
  ])('%s', async (_, path, expected) => {
    const repository = await makeSaved(SMALL_BYTES);
    const { target, exitCode } = await repository.restore({ selector: `latest:${path}` });
    expect(exitCode).toBe(0);
    expect(namesBelow(target)).toEqual(expected);
  });

  it('by the absolute path that it had', async () => {
    const repository = await makeSaved(SMALL_BYTES);
    const { target } = await repository.restore({ selector: `latest:${repository.source}/sub/deep/c` });
    expect(namesBelow(target)).toEqual(['c']);
    const content = readFileSync(join(target, 'c'));
    expect(content.equals(readFileSync(join(repository.source, 'sub', 'deep', 'c')))).toBe(true);
  });

  it.each(['/', '/.', '//'])('%s is the whole', async (path) => {
    const repository = await makeSaved(SMALL_BYTES);
    const { target } = await repository.restore({ selector: `latest:${path}` });
    expect(readdirSync(target)).toEqual(['source']);
  });

  it('by an absolute path that it did not have is an error that says what it had', async () => {
    const repository = await makeSaved(SMALL_BYTES);
    const parent = dirname(repository.directory);
    for (const path of ['/source/a', '/source', '/etc/passwd', parent, `${repository.directory}x/source/a`]) {
      const restoring = repository.restore({ selector: `latest:${path}` });
      await expect(restoring, path).rejects.toThrow(SnapshotNotFoundError);
      await expect(restoring, path).rejects.toThrow(`is below ${repository.directory}`);
      await expect(restoring, path).rejects.toMatchObject({ advice: { code: 'give-path-as-listed' } });
    }
  });

  it.each(['source/absent', 'source/a/below-a-file', 'absent/b'])('that is not there is an error: %s', async (path) => {
    const repository = await makeSaved(SMALL_BYTES);
    const target = join(repository.directory, 'target');
    const restoring = repository.restore({ selector: `latest:${path}`, target });
    await expect(restoring).rejects.toThrow(SnapshotNotFoundError);
  });
});

describe('a restore that is interrupted', () => {
  /** Interrupts in the middle of the file `big`. */
  async function interrupt(repository: TestRepository, target: string, overwrite: OverwriteMode): Promise<void> {
    const controller = new AbortController();
    const partsSeen: string[] = [];
    const directory = join(target, 'source');
    const signal = controller.signal;
    const abort = controller.abort.bind(controller);
    const original = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')!;
    Object.defineProperty(signal, 'aborted', {
      get: (): boolean => {
        // Not by the open files of this process: after a few hundred test files there are so many that it took a minute.
        const names = existsSync(directory) ? readdirSync(directory) : [];
        const written = names.filter((name) => name.startsWith('.ldm-restore-')).map((name) => join(directory, name));
        const found = written.map((path) => statSync(path, { throwIfNoEntry: false }));
        // A thread may be done with it by now, or with all but its name: then it is whole and has its mode.
        const unfinished = found.filter((stats) => stats !== undefined && stats.size !== SMALL_BYTES);
        // What it holds so far is nobody else's to read.
        expect(unfinished.filter((stats) => (stats!.mode & 0o077) !== 0)).toEqual([]);
        // The other files are smaller.
        const isBigOpen = found.some((stats) => (stats?.size ?? 0) > 100_000);
        // What a thread has not begun by then would be dropped.
        if (isBigOpen && existsSync(join(target, 'source', 'a'))) {
          // What a kill -9 would leave now: no name that stands for a part of a file.
          partsSeen.push(...readdirSync(join(target, 'source')).filter((name) => name === 'big'));
          abort(new CancelledError('SIGINT'));
        }
        return original.get!.call(signal) as boolean;
      },
    });
    const restoring = restore({ ...repository.context, signal }, { selector: 'latest', target, overwrite });
    await expect(restoring).rejects.toThrow(CancelledError);
    expect(controller.signal.aborted).toBe(true);
    if (overwrite === 'never') expect(partsSeen).toEqual([]);
  }

  it('leaves no part of a file under its name, and goes on where it stopped', async () => {
    const repository = await makeSaved(SEVERAL_BLOCKS_BYTES);
    const target = join(repository.directory, 'target');
    await interrupt(repository, target, 'never');
    expect(readdirSync(join(target, 'source'))).toEqual(['a']);
    const { filesUnchanged, filesRestored } = await repository.restore({ target, overwrite: 'if-changed' });
    expect([filesUnchanged, filesRestored]).toEqual([1, 3]);
    expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
  });

  it('leaves the old file whole where it was to be replaced', async () => {
    const repository = await makeSaved(SEVERAL_BLOCKS_BYTES);
    const target = join(repository.directory, 'target');
    mkdirSync(join(target, 'source'), { recursive: true });
    writeFileSync(join(target, 'source', 'big'), 'mine');
    await interrupt(repository, target, 'if-changed');
    expect(readdirSync(join(target, 'source')).toSorted()).toEqual(['a', 'big', 'sub']);
    expect(readFileSync(join(target, 'source', 'big'), 'utf8')).toBe('mine');
  });
});

describe('a dry run', () => {
  it('says what a restore would write, and writes nothing', async () => {
    const repository = await makeSaved();
    const target = join(repository.directory, 'target');
    const result = await repository.restore({ target, dryRun: true });
    expect(result).toMatchObject({
      filesRestored: 4,
      directoriesRestored: 3,
      bytesRestored: BIG_BYTES + 3 * SMALL_BYTES,
      exitCode: 0,
    });
    expect(readdirSync(repository.directory)).not.toContain('target');
  });
});

describe('a hard link to a file that only looks like the one in the snapshot', () => {
  it('is not made: the name gets its own bytes', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'a'), 'right');
    linkSync(join(repository.source, 'a'), join(repository.source, 'b'));
    utimesSync(join(repository.source, 'a'), 1000, 1000);
    await repository.backup();
    const target = join(repository.directory, 'target');
    mkdirSync(join(target, 'source'), { recursive: true });
    writeFileSync(join(target, 'source', 'a'), 'wrong');
    utimesSync(join(target, 'source', 'a'), 1000, 1000);
    expect((await repository.restore({ target })).filesUnchanged).toBe(1);
    expect(readFileSync(join(target, 'source', 'b'), 'utf8')).toBe('right');
  });
});

import { existsSync, linkSync, lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { contentReads } from '../support/pack-reads.ts';
import type { PackReads } from '../support/pack-reads.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import { SMALL_SIZES } from '../support/simulated-process.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { withoutKoffi } from '../support/without-koffi.ts';

/** Calls `action` before content is read, as soon as `isTime`. */
function whileReading(
  { context }: TestRepository,
  isTime: () => boolean,
  action: () => void,
): { readonly backend: PackReads; readonly isDone: () => boolean } {
  let isDone = false;
  const backend = contentReads(context.backend, () => {
    if (isDone || !isTime()) return;
    isDone = true;
    action();
  });
  return { backend, isDone: () => isDone };
}

it.each(['source', 'source/sub', 'source/sub/deep'])(
  'whoever exchanges %s for a symlink does not get a restore to write where it leads',
  async (name) => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    mkdirSync(join(repository.source, 'sub', 'deep', 'deeper'), { recursive: true });
    const prng = createPrng(20261122);
    for (const [index, path] of ['a', 'sub/b', 'sub/deep/c', 'sub/deep/deeper/d', 'sub/z', 'z'].entries()) {
      writeFileSync(join(repository.source, path), prng.bytes(index === 2 ? 300_000 : 3000));
      symlinkSync('somewhere', join(repository.source, `${path}-link`));
    }
    await repository.backup();
    const [target, outside, moved] = ['target', 'outside', 'moved'].map((part) => join(repository.directory, part));
    mkdirSync(join(outside!, 'sub', 'deep', 'deeper'), { recursive: true });
    const before = describeTree(outside!);
    const victim = join(target!, name);
    const { backend, isDone } = whileReading(
      repository,
      () => existsSync(victim),
      () => {
        renameSync(victim, moved!);
        symlinkSync(outside!, victim);
      },
    );
    await repository.restore({ target: target! }, { backend });
    expect(isDone()).toBe(true);
    expect(diffTrees(before, outside!)).toEqual([]);
    const whole = join(repository.source, name.slice('source'.length));
    expect(diffTrees(whole, moved!, { ignore: ['mtimeNs'] })).toEqual([]);
  },
);

/** A file with a name in `first/deep` and two in `others`, and blocks that are read after it is written. */
async function makeLinked(): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const { source, context } = repository;
  Object.assign(context, { storeSizes: SMALL_SIZES });
  for (const name of ['first/deep', 'others', 'rest']) mkdirSync(join(source, name), { recursive: true });
  const prng = createPrng(20261123);
  // It is too large for the threads, so it is complete when its last chunk was read.
  writeFileSync(join(source, 'first', 'deep', 'file'), prng.bytes(300_000));
  for (const name of ['1', '2']) linkSync(join(source, 'first', 'deep', 'file'), join(source, 'others', name));
  for (let index = 0; index < inSoak(40, 15); index += 1)
    writeFileSync(join(source, 'rest', `${index}`), prng.bytes(20_000));
  await repository.backup();
  return repository;
}

const LINKED = ['first', 'first/deep', 'others'];

describe.each([
  ['with koffi', true],
  ['without koffi', false],
])('hard links, %s', (_, hasKoffi) => {
  it.each(inSoak(LINKED, hasKoffi ? LINKED : LINKED.slice(1, 2)))(
    'do not follow an exchange of the directory `%s` for a symlink',
    async (name) => {
      const repository = await makeLinked();
      if (!hasKoffi) withoutKoffi();
      const [target, outside, moved] = ['target', 'outside', 'moved'].map((part) => join(repository.directory, part));
      const traps = ['file', 'deep/file'].map((path) => join(outside!, path));
      mkdirSync(join(outside!, 'deep'), { recursive: true });
      for (const trap of traps) writeFileSync(trap, 'another file');
      const before = describeTree(outside!);
      const first = join(target!, 'source', 'first', 'deep', 'file');
      const victim = join(target!, 'source', name);
      const { backend, isDone } = whileReading(
        repository,
        () => existsSync(first),
        () => {
          expect(lstatSync(first).nlink).toBe(1);
          renameSync(victim, moved!);
          symlinkSync(outside!, victim);
        },
      );
      const { problems } = await repository.restore({ target: target! }, { backend });
      expect([isDone(), problems]).toEqual([true, []]);
      expect(diffTrees(before, outside!)).toEqual([]);
      for (const trap of traps) expect(lstatSync(trap).nlink).toBe(1);
      for (const part of new Set([name, 'others'])) {
        const restored = part === name ? moved! : join(target!, 'source', part);
        // Without koffi, times are rounded.
        expect(diffTrees(join(repository.source, part), restored, { ignore: hasKoffi ? [] : ['mtimeNs'] })).toEqual([]);
      }
    },
  );
});

import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { StateReader } from '../../src/repository/state-reader.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { createPrng } from '../support/prng.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';

/** Calls `action` before a block with content is read, as soon as `isTime`. The result says whether it was called. */
function whileReading(isTime: () => boolean, action: () => void): () => boolean {
  let isDone = false;
  // oxlint-disable-next-line typescript/unbound-method
  const openBlock = StateReader.prototype.openBlock;
  vi.spyOn(StateReader.prototype, 'openBlock').mockImplementation(function (this: StateReader, ...given) {
    if (!isDone && isTime()) {
      isDone = true;
      action();
    }
    return openBlock.apply(this, given);
  });
  return () => isDone;
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
    const isSwapped = whileReading(
      () => existsSync(victim),
      () => {
        renameSync(victim, moved!);
        symlinkSync(outside!, victim);
      },
    );
    await repository.restore({ target: target! });
    expect(isSwapped()).toBe(true);
    expect(diffTrees(before, outside!)).toEqual([]);
    const whole = join(repository.source, name.slice('source'.length));
    expect(diffTrees(whole, moved!, { ignore: ['mtimeNs'] })).toEqual([]);
  },
);

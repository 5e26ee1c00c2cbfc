import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { describeTree } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';

const PATTERNS = ['a', 'A/b', '*c', 'source/a', 'source/**/b', '/nowhere', 'beside', '[ab]', 'source', 'd', 'c/*'];

/** Everything in a directory, but not the directory itself, which is made by the restore. */
function entriesIn(directory: string): Map<string, string> {
  return new Map([...describeTree(directory)].filter(([path]) => path !== ''));
}

it.each(seedsOf(4, 200))('what stays is what a restore with the same patterns brings back (seed %i)', async (seed) => {
  const prng = createPrng(seed);
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const { source, directory, context } = repository;
  mkdirSync(join(directory, 'beside'));
  writeFileSync(join(directory, 'beside/b'), 'x');
  const fill = (place: string, depth: number): void => {
    mkdirSync(place, { recursive: true });
    for (const name of ['a', 'b', 'bc', 'd']) {
      if (prng.int(2) === 0) continue;
      if (depth > 0 && prng.int(2) === 0) fill(join(place, name), depth - 1);
      else writeFileSync(join(place, name), prng.bytes(1 + prng.int(50)));
    }
  };
  fill(source, 3);
  const { snapshotId } = await repository.backup({ sources: prng.int(2) === 0 ? ['source'] : ['source', 'beside'] });
  for (let round = 0; round < 4; round += 1) {
    const picked = Array.from({ length: 1 + prng.int(3) }, (_, index) => {
      return `${index > 0 && prng.int(3) === 0 ? '!' : ''}${PATTERNS[prng.int(PATTERNS.length)]!}`;
    }).map((pattern) => (prng.int(4) === 0 ? pattern.replace(/^(!?)source/, `$1${source}`) : pattern));
    const ignoresCase = prng.int(3) === 0;
    const message = `seed ${seed}, ${picked.join(' ')}${ignoresCase ? ' in any case' : ''}`;
    const { rewritten, includesUnmatched } = await rewriteSnapshots(context, {
      selectors: [snapshotId!],
      include: ignoresCase ? { ignoringCase: picked } : { exact: picked },
    });
    const restored = await repository.restore({
      selector: snapshotId!,
      ...(ignoresCase ? { iinclude: picked } : { include: picked }),
    });
    const expected = entriesIn(restored.target);
    expect([...includesUnmatched].toSorted(), message).toEqual([...restored.includesUnmatched].toSorted());
    if (rewritten.length === 0) {
      const whole = entriesIn((await repository.restore({ selector: snapshotId! })).target);
      // Nothing matches, or everything does.
      expect([0, whole.size], message).toContain(expected.size);
      continue;
    }
    const { newId, leftOut, snapshot } = rewritten[0]!;
    const again = await repository.restore({ selector: newId! });
    expect(again.problems).toEqual([]);
    expect([...entriesIn(again.target)], message).toEqual([...expected]);
    expect(again.filesRestored).toBe(snapshot.summary.totalFilesProcessed);
    expect(leftOut.fileCount + again.filesRestored).toBe(
      (await repository.restore({ selector: snapshotId! })).filesRestored,
    );
  }
  await repository.expectClean();
});

it('a snapshot in which nothing matches stays as it is, also with forget', async () => {
  const repository = await makeTestRepository();
  const { source, context } = repository;
  mkdirSync(join(source, 'empty'));
  writeFileSync(join(source, 'file'), 'x');
  const { snapshotId } = await repository.backup();
  const include = { exact: ['nosuch'] };
  const result = await rewriteSnapshots(context, { selectors: ['latest'], include, forget: true });
  expect(result).toMatchObject({ rewritten: [], unchangedCount: 1, includesUnmatched: ['nosuch'] });
  expect((await listSnapshots(context)).map(({ id }) => id)).toEqual([snapshotId]);
  await rewriteSnapshots(context, { selectors: ['latest'], include: { exact: ['empty'] }, forget: true });
  await repository.expectClean();
  const patterns = { exact: ['a'] };
  await expect(rewriteSnapshots(context, { selectors: ['latest'], include, patterns })).rejects.toThrow(UsageError);
});

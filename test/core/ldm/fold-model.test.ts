import { describe, expect, it } from 'vitest';
import { runFoldModel } from './fold-model.ts';
import type { ModelBug, ModelResult } from './fold-model.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

const SEEDS = seedsOf(inSoak(4, 2), 20);
const ROUNDS = 600;

describe('the filter state as a function of segments and snapshots', () => {
  it.each(SEEDS)('holds under random commands, crashes and lost checkpoints (seed %i)', async (seed) => {
    const missing = ({ commits, compactions, crashes, folds, rebuilds }: ModelResult): string[] => [
      ...(commits > 20 ? [] : ['commits']),
      ...(compactions > 5 ? [] : ['compactions']),
      ...(crashes > 5 ? [] : ['crashes']),
      ...(Math.min(folds, rebuilds) > 20 ? [] : ['folds or rebuilds']),
    ];
    // In most runs of this length all of that happens often enough, but not in all.
    const result = await runFoldModel(seed, ROUNDS, { isEnough: (soFar) => missing(soFar).length === 0 });
    expect(missing(result)).toEqual([]);
  });

  it.each<ModelBug>(['pack-first', 'stale-checkpoint', 'no-lock'])(
    'breaks when the order is wrong: %s',
    async (bug) => {
      expect(await firstFailure(bug)).toMatch(
        /lost a chunk|has no location|fold and rebuild differ|disagree with the mark/,
      );
    },
  );
});

/** Of the seeds from 1 to 4. */
async function firstFailure(bug: ModelBug): Promise<string | undefined> {
  for (const seed of [1, 2, 3, 4]) {
    try {
      await runFoldModel(seed, ROUNDS, { bug });
    } catch (error) {
      return String(error);
    }
  }
  return undefined;
}

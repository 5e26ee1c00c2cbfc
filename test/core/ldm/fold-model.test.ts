import { describe, expect, it } from 'vitest';
import { runFoldModel } from './fold-model.ts';
import type { ModelBug } from './fold-model.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

const SEEDS = seedsOf(inSoak(4, 2), 20);
const ROUNDS = 600;

describe('the filter state as a function of segments and snapshots', () => {
  it.each(SEEDS)('holds under random commands, crashes and lost checkpoints (seed %i)', async (seed) => {
    const result = await runFoldModel(seed, ROUNDS);
    expect(result.commits).toBeGreaterThan(20);
    expect(result.compactions).toBeGreaterThan(5);
    expect(result.crashes).toBeGreaterThan(5);
    expect(Math.min(result.folds, result.rebuilds)).toBeGreaterThan(20);
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
      await runFoldModel(seed, ROUNDS, bug);
    } catch (error) {
      return String(error);
    }
  }
  return undefined;
}

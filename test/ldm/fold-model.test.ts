import { describe, expect, it } from 'vitest';
import { runFoldModel } from './fold-model.ts';
import type { ModelBug } from './fold-model.ts';
import { inSoak, seedsFrom } from '../support/soak.ts';

const SEEDS = [1, 2, 3, 4];
const ROUNDS = 600;

describe('the filter state as a function of segments and snapshots', () => {
  it.each(seedsFrom(1, inSoak(4, 2)))(
    'holds under random commands, crashes and lost checkpoints, seed %i',
    async (seed) => {
      const result = await runFoldModel(seed, ROUNDS);
      expect(result.commits).toBeGreaterThan(20);
      expect(result.compactions).toBeGreaterThan(5);
      expect(result.crashes).toBeGreaterThan(5);
      expect(Math.min(result.folds, result.rebuilds)).toBeGreaterThan(20);
    },
  );

  it.each<ModelBug>(['pack-first', 'stale-checkpoint', 'no-lock'])(
    'breaks when the order is wrong: %s',
    async (bug) => {
      const outcomes = await Promise.allSettled(SEEDS.map((seed) => runFoldModel(seed, ROUNDS, bug)));
      const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
      expect(reasons.join()).toMatch(/lost a chunk|has no location|fold and rebuild differ|disagree with the mark/);
    },
  );
});

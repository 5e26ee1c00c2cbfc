import { describe, expect, it } from 'vitest';

import { CancelledError } from '../../../src/core/errors.ts';
import { simulateChains } from '../../../src/filters/simulate/simulate.ts';
import { inSoak } from '../../support/soak.ts';

describe('simulation', () => {
  it('agrees with theory at every sample, in the arrays and in the filters of this program', async () => {
    const seed = 7;
    const { groups } = await simulateChains({ runs: inSoak(400, 100), seed, samples: 8 });
    for (const group of groups) {
      for (const sample of group.samples) {
        const { elements: _, ...chains } = sample;
        expect(Object.keys(chains)).toEqual(['ldm', 'dibf', 'ldmFilter', 'ldmFilterSaved', 'dibfFilter']);
        for (const [kind, chain] of Object.entries(chains)) {
          const deviations = (chain.mean - chain.expected) / chain.standardError;
          const message = `seed ${seed}, ${kind}, ${sample.elements} of ${group.elements}`;
          expect(Math.abs(deviations), message).toBeLessThan(4.5);
          expect(chain.min).toBeLessThanOrEqual(chain.mean);
          expect(chain.max).toBeGreaterThanOrEqual(chain.mean);
        }
      }
      const full = group.samples.at(-1)!;
      expect(full.elements).toBe(group.elements);
      // As the figures of the paper show it: LDM below DIBF.
      expect(full.ldm.mean).toBeLessThan(full.dibf.mean - 2);
      expect(full.ldmFilter.mean).toBeLessThan(full.dibfFilter.mean - 2);
      // What a look-up walks is as long as in the DIBF.
      expect(Math.abs(full.ldmFilterSaved.mean - full.dibfFilter.mean)).toBeLessThan(0.4);
    }
  });

  it('has the published groups', async () => {
    const { groups, hashes } = await simulateChains({ runs: 1, seed: 1, samples: 4 });
    expect(hashes).toBe(7);
    expect(groups.map(({ elements, positions, side }) => [elements, positions, side])).toEqual([
      [640, 6463, 26],
      [1600, 16_158, 40],
    ]);
    expect(groups[0]!.samples.map(({ elements }) => elements)).toEqual([160, 320, 480, 640]);
    expect(groups[0]!.samples[0]!.ldm.standardError).toBe(0);
  });

  it('gives the same numbers for the same seed, and others for another', async () => {
    const first = await simulateChains({ runs: 3, seed: 11, samples: 16 });
    expect(await simulateChains({ runs: 3, seed: 11, samples: 16 })).toEqual(first);
    expect((await simulateChains({ runs: 3, seed: 12, samples: 16 })).groups).not.toEqual(first.groups);
  });

  it('looks at every chunk at most once', async () => {
    const { groups } = await simulateChains({ runs: 1, seed: 1, samples: 5000 });
    expect(groups[0]!.samples).toHaveLength(640);
    expect(groups[0]!.samples[0]!.ldm).toEqual({ mean: 1, standardError: 0, min: 1, max: 1, expected: 1 });
  });

  it('ends when it is interrupted', async () => {
    const controller = new AbortController();
    const running = simulateChains({ runs: 1e9, seed: 1, samples: 1, signal: controller.signal });
    setImmediate(() => controller.abort(new CancelledError('SIGINT')));
    await expect(running).rejects.toThrow(CancelledError);
  });
});

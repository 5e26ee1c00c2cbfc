import { describe, expect, it } from 'vitest';
import { runFalsePositiveBench } from '../../bench/false-positives.bench.ts';
import { runFilterBench } from '../../bench/filter.bench.ts';
import { inSoak } from '../../support/soak.ts';

describe('the benchmark of the filter', () => {
  it('runs at a small size and gives figures that can be right', () => {
    const result = runFilterBench(inSoak(100_000, 60_000));
    for (const figure of Object.values(result)) expect(figure).toBeGreaterThan(0);
    expect(result.memoryBytesPerChunk).toBeGreaterThan(48);
    expect(result.memoryBytesPerChunk).toBeLessThan(72);
    // Array buffers of the test runner come and go beside the filter's.
    expect(result.processBytesPerChunk).toBeGreaterThan(40);
    expect(result.processBytesPerChunk).toBeLessThan(90);
  });

  it('measures the false positive rate that is predicted, in a full filter and in one that is nearly empty', () => {
    for (const [elements, probeCount] of [
      [640, 200_000],
      [160, inSoak(4_000_000, 1_500_000)],
    ] as const) {
      const { formula1, predicted, deviations } = runFalsePositiveBench(elements, probeCount);
      expect(Math.abs(deviations), `${elements} chunks`).toBeLessThan(5);
      expect(predicted).toBeGreaterThan(formula1);
    }
  });
});

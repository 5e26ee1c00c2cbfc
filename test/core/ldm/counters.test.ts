import { describe, expect, it } from 'vitest';
import { COUNTER_MAX, CounterArray } from '../../../src/core/ldm/counters.ts';

describe('CounterArray', () => {
  it('counts chunks in and out at each of their positions', () => {
    const counters = new CounterArray(11, 3);
    counters.add(9, 3); // 9, 1, 4
    counters.add(4, 1); // 4, 5, 6
    const counts = Array.from({ length: 11 }, (_, position) => counters.countAt(position));
    expect(counts).toEqual([0, 1, 0, 0, 2, 1, 1, 0, 0, 1, 0]);
    expect(counters.histogram().slice(0, 3)).toEqual([6, 4, 1]);
    expect(counters.probe(9, 3)).toBe(true);
    counters.subtract(9, 3);
    expect(counters.probe(9, 3)).toBe(false);
    expect(counters.probe(4, 1)).toBe(true);
    counters.subtract(4, 1);
    expect(counters.bytes.every((byte) => byte === 0)).toBe(true);
  });

  it('sticks at the maximum, and does not touch the neighbour in the same byte', () => {
    for (const position of [4, 5]) {
      const counters = new CounterArray(11, 1);
      for (let count = 1; count <= 300; count++) {
        counters.add(position, 1);
        expect(counters.countAt(position)).toBe(Math.min(count, COUNTER_MAX));
      }
      expect(counters.saturatedCount).toBe(1);
      for (let count = 0; count < 300; count++) counters.subtract(position, 1);
      expect(counters.countAt(position)).toBe(COUNTER_MAX);
      expect(counters.probe(position, 1)).toBe(true);
      expect(counters.countAt(position ^ 1)).toBe(0);
    }
  });

  it('refuses to count out what was never counted in', () => {
    const counters = new CounterArray(11, 2);
    counters.add(0, 1);
    expect(() => counters.subtract(1, 1)).toThrow('never added');
  });

  it('knows the saturated counters of saved bytes', () => {
    const bytes = Uint8Array.of(0xff, 0xf0, 0x0f, 0xe7, 0x77, 0x0f);
    const counters = new CounterArray(11, 2, bytes);
    expect(counters.saturatedCount).toBe(5);
    expect(counters.histogram()[COUNTER_MAX]).toBe(5);
    expect(counters.histogram().reduce((sum, count) => sum + count)).toBe(11);
  });
});

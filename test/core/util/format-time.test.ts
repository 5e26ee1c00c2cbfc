import { describe, expect, it } from 'vitest';

import { formatDuration, parseDuration } from '../../../src/core/util/format-time.ts';

describe('formatDuration', () => {
  it.each([
    [0, '0.0 s'],
    [12_340, '12.3 s'],
    [59_960, '1 min 00 s'],
    [245_000, '4 min 05 s'],
    [3_599_900, '1 h 00 min'],
    [7_380_000, '2 h 03 min'],
  ])('%d ms is %s', (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});

describe('parseDuration', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5s', 1500],
    ['2d', 172_800_000],
    ['0', 0],
  ])('%s is %d ms', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  it.each(['', '5', '5x', 's', '-5s', '5 m', '1h-30m', '99999999999999d'])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';

import { IN_FUTURE, applyPolicy, isEmptyPolicy } from '../../../src/verbs/forget/retention-policy.ts';
import type { RetentionPolicy } from '../../../src/verbs/forget/retention-policy.ts';
import { parseCalendarSpan } from '../../../src/core/util/calendar-span.ts';
import { createPrng } from '../../support/prng.ts';
import { listingOf, randomMoments, randomPolicy } from '../../support/random-retention.ts';
import { seedsOf } from '../../support/seeds.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

/** Returns what is kept, newest first, as `day: reasons`. */
function keep(times: readonly string[], policy: RetentionPolicy, offsetMinutes = 0): string[] {
  const moments = times.map((time) => ({
    timeMs: Date.parse(`${time}Z`),
    offsetMinutes,
    host: 'h',
    paths: ['/p'],
    tags: [],
  }));
  const { kept, removed } = applyPolicy(moments.map(listingOf), policy, NOW);
  expect(kept.length + removed.length).toBe(times.length);
  return kept.map(({ listing, reasons }) => `${listing.snapshot.time.slice(0, 16)}: ${reasons.join(', ')}`);
}

const span = (text: string) => parseCalendarSpan(text)!;
const DAYS = ['2026-01-01T10:00', '2026-01-02T10:00', '2026-01-02T12:00', '2026-01-03T10:00'];

describe('a retention policy', () => {
  it('keeps the newest of each period', () => {
    expect(keep(DAYS, { counts: { daily: 2 } })).toEqual([
      '2026-01-03T10:00: daily snapshot',
      '2026-01-02T12:00: daily snapshot',
    ]);
  });

  it('also keeps the oldest while a rule has some left', () => {
    const times = ['2026-01-01T10:00', '2026-01-01T11:00', '2026-01-02T10:00'];
    expect(keep(times, { counts: { daily: 3, yearly: Infinity } })).toEqual([
      '2026-01-02T10:00: daily snapshot, yearly snapshot',
      '2026-01-01T11:00: daily snapshot',
      '2026-01-01T10:00: oldest daily snapshot, oldest yearly snapshot',
    ]);
    expect(keep(times, { counts: { daily: 2 } })).toHaveLength(2);
  });

  it('lets weeks begin on Monday, and belong to the year of their Thursday', () => {
    // A Sunday, the Monday after it, the Sunday of that week, and the next Monday.
    const times = ['2025-12-28T10:00', '2025-12-29T10:00', '2026-01-04T10:00', '2026-01-05T10:00'];
    expect(keep(times, { counts: { weekly: 3 } })).toEqual([
      '2026-01-05T10:00: weekly snapshot',
      '2026-01-04T10:00: weekly snapshot',
      '2025-12-28T10:00: weekly snapshot',
    ]);
  });

  it('counts days by the clock of the backup', () => {
    const times = ['2026-01-01T22:30', '2026-01-01T23:30'];
    expect(keep(times, { counts: { daily: 5 } })).toEqual([
      '2026-01-01T23:30: daily snapshot',
      '2026-01-01T22:30: oldest daily snapshot',
    ]);
    // In Berlin it is half past midnight, on the next day.
    expect(keep(times, { counts: { daily: 5 } }, 60)).toEqual([
      '2026-01-01T23:30: daily snapshot',
      '2026-01-01T22:30: daily snapshot',
    ]);
  });

  it('measures spans from the newest snapshot', () => {
    const times = ['2025-12-31T00:00', '2026-01-31T00:00'];
    expect(keep(times, { within: span('1m') })).toEqual(['2026-01-31T00:00: within 1m']);
    expect(keep(times, { within: span('1m1h') })).toHaveLength(2);
    expect(keep(times, { within: span('99999y') })).toHaveLength(2);
  });

  it.each(seedsOf(2, 20))('keeps what is dated in the future besides, whatever its rules (seed %i)', (seed) => {
    const prng = createPrng(seed);
    for (let run = 0; run < 50; run += 1) {
      const { policy } = randomPolicy(prng, 1);
      const past = randomMoments(prng, 'h').map(listingOf);
      const future = randomMoments(prng, 'h').map(({ timeMs, ...moment }) =>
        listingOf({ ...moment, timeMs: timeMs + 50 * 365 * 86_400_000 }),
      );
      const without = applyPolicy(past, policy, NOW);
      const { kept, removed } = applyPolicy([...past, ...future], policy, NOW);
      expect(removed, `seed ${seed}, run ${run}`).toEqual(without.removed);
      expect(kept.slice(-without.kept.length)).toEqual(without.kept);
      expect(kept.slice(0, future.length).map(({ reasons }) => reasons)).toEqual(future.map(() => [IN_FUTURE]));
    }
  });

  it('takes a clock that is five minutes ahead for a right one', () => {
    const times = ['2026-06-01T00:05', '2026-06-01T00:06'];
    expect(keep(times, { counts: { last: 1 } })).toEqual([
      `2026-06-01T00:06: ${IN_FUTURE}`,
      '2026-06-01T00:05: last snapshot',
    ]);
  });

  it.each([
    [{}, true],
    [{ counts: { last: 0 } }, true],
    [{ counts: { last: 0, daily: 1 } }, false],
    [{ tags: [['a']] }, false],
    [{ within: span('1d') }, false],
    [{ withinUnits: { daily: span('1d') } }, false],
  ] as const)('%j is empty: %s', (policy, isEmpty) => {
    expect(isEmptyPolicy(policy)).toBe(isEmpty);
  });
});

describe('a span', () => {
  it.each(['', '0d', '0w', '1w1w', '1d1d', '-1d', '1', 'd', '1d x', '1.5d'])('is not %j', (text) => {
    expect(parseCalendarSpan(text)).toBeUndefined();
  });

  it('has weeks of seven days', () => {
    expect(parseCalendarSpan('1y2w3d')).toEqual({ years: 1, months: 0, days: 17, hours: 0 });
  });
});

import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { comparedTimeValue } from '../../../src/console/options/span-values.ts';
import { makeScenario } from '../../cli/scenario.ts';
import { testProperty } from '../../support/property.ts';

const DAY_MS = 86_400_000;

describe('a time to compare with', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each(['UTC', 'America/St_Johns', 'Pacific/Kiritimati'])('names days as they begin in %s', (zone) => {
    vi.stubEnv('TZ', zone);
    const [today, yesterday] = [new Date(comparedTimeValue('today')), new Date(comparedTimeValue('yesterday'))];
    for (const { day, ago } of [
      { day: today, ago: 0 },
      { day: yesterday, ago: 1 },
    ]) {
      const wanted = new Date(Date.now());
      wanted.setDate(wanted.getDate() - ago);
      expect([day.getHours(), day.getMinutes(), day.getMilliseconds()]).toEqual([0, 0, 0]);
      expect(day.toDateString()).toBe(wanted.toDateString());
    }
  });

  testProperty('may be a span before now', (check) => {
    check(
      fc.property(fc.nat(500), fc.nat(50), fc.nat(100), (days, weeks, hours) => {
        fc.pre(days + weeks + hours > 0);
        const before = Date.now();
        const timeMs = Date.parse(comparedTimeValue(`${weeks}w${days}d${hours}h`));
        const agoMs = (7 * weeks + days) * DAY_MS + hours * 3_600_000;
        expect(timeMs).toBeGreaterThanOrEqual(before - agoMs);
        expect(timeMs).toBeLessThanOrEqual(Date.now() - agoMs);
      }),
    );
  });

  it.each(['7', 'tomorrow', '2w2w', '-7d', '999999y', '2026-02-31', ''])('is not %j', (text) => {
    expect(() => comparedTimeValue(text)).toThrow(/Give a date such as .*, a span before now such as 7d/);
  });
});

it('snapshots of the last week, and those before', async () => {
  const { run, source } = await makeScenario();
  const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
  for (const days of [20, 10, 3]) await run(['backup', source, '--time', daysAgo(days)]);
  const counted = async (...filter: string[]): Promise<string> =>
    (await run(['snapshots', ...filter])).stdout.trimEnd().split('\n').at(-1)!;
  expect(await counted('--since', '7d')).toBe('1 snapshot');
  expect(await counted('--since', '2w')).toBe('2 snapshots');
  expect(await counted('--before', '7d')).toBe('2 snapshots');
  expect(await counted('--since', 'yesterday')).toBe('0 snapshots');
  expect(await counted('--since', '2w', '--before', 'yesterday')).toBe('2 snapshots');
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CancelledError } from '../../src/core/errors.ts';
import { calendarSpanValue } from '../../src/console/options/span-values.ts';
import { formatCalendarSpan } from '../../src/core/util/calendar-span.ts';
import { pinSnapshots } from '../../src/verbs/tag/tag.ts';
import { forgetByPolicy } from '../../src/verbs/forget/forget.ts';
import type { ForgetOptions, ForgetResult } from '../../src/verbs/forget/forget.ts';
import { answerRetention } from '../../src/ui/server/answers/retention.ts';
import { CurrentRepository } from '../../src/ui/server/current-repository.ts';
import type { RetentionAnswer } from '../../src/ui/api/retention.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { runLdm } from '../support/run-ldm.ts';
import { TINY_CHUNKS, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { servePage } from './support.ts';

const HOUR_MS = 3_600_000;
const UNITS = ['last', 'hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;
const GROUPINGS = [['host', 'paths'], ['host'], ['host', 'tags'], []] as const;

/** Snapshots of two hosts in the last years, of which one is pinned. */
async function makeYears(prng: Prng): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS, encryption: 'never' });
  let timeMs = Date.UTC(2026, 0, 1);
  for (let number = 0; number < 20; number += 1) {
    timeMs -= prng.pick([1, 5, 24, 24, 24, 170, 900, 5000]) * HOUR_MS;
    writeFileSync(join(repository.source, `file-${prng.int(6)}`), createPrng(prng.int(12)).bytes(20_000));
    await repository.backup({
      time: new Date(timeMs).toISOString(),
      hostname: prng.pick(['one', 'two']),
      tags: prng.pick([[], ['a'], ['a', 'b']]),
    });
  }
  return repository;
}

function randomRules(prng: Prng): { readonly rules: Record<string, string>; readonly options: ForgetOptions } {
  const rules: Record<string, string> = {};
  const counts: Record<string, number> = {};
  const forced = prng.pick(UNITS);
  for (const unit of UNITS) {
    if (unit !== forced && prng.int(3) > 0) continue;
    counts[unit] = prng.int(6) === 0 ? Infinity : 1 + prng.int(4);
    rules[`keep-${unit}`] = counts[unit] === Infinity ? 'unlimited' : `${counts[unit]}`;
  }
  const within = prng.int(3) > 0 ? undefined : calendarSpanValue(prng.pick(['2d', '1y', '3m12h']));
  if (within !== undefined) rules['keep-within'] = formatCalendarSpan(within);
  const groupBy = prng.pick(GROUPINGS);
  if (groupBy !== GROUPINGS[0] || prng.int(2) === 0) rules['group-by'] = groupBy.join(',');
  return { rules, options: { policy: { counts, ...(within === undefined ? {} : { within }) }, groupBy } };
}

/** What is to be the same, by the ids of snapshots. */
function outcomeOf({ groups, freed, size }: ForgetResult): unknown {
  return {
    kept: groups.map(({ kept }) =>
      kept.map(({ listing: { id }, reasons, onlyHere }) => [id, reasons, onlyHere.storedBytes]),
    ),
    removed: groups.map(({ removed }) => removed.map(({ listing: { id }, onlyHere }) => [id, onlyHere.storedBytes])),
    freed: [freed.storedBytes, freed.rawBytes],
    size: size === undefined ? undefined : [size.beforeBytes, size.expectedBytes],
  };
}

function answeredOutcome({ groups, storedBytes, rawBytes, size }: RetentionAnswer): unknown {
  return {
    kept: groups.map(({ snapshots }) =>
      snapshots
        .filter(({ stays }) => stays)
        .map(({ id, reasons, onlyHereBytes }) => [id, reasons.filter((reason) => reason !== 'pinned'), onlyHereBytes]),
    ),
    removed: groups.map(({ snapshots }) =>
      snapshots.filter(({ stays }) => !stays).map(({ id, onlyHereBytes }) => [id, onlyHereBytes]),
    ),
    freed: [storedBytes, rawBytes],
    size: size === undefined ? undefined : [size.beforeBytes, size.expectedBytes],
  };
}

describe('the retention of the page', () => {
  it('says for many rules what `forgetByPolicy` says', async () => {
    const prng = createPrng(11);
    const { context } = await makeYears(prng);
    const page = await servePage(context);
    await pinSnapshots(context, { selectors: [(await page.ask('snapshots')).snapshots[12]!.id] });
    const sizes = new Set<number>();
    for (let round = 0; round < 30; round += 1) {
      const { rules, options } = randomRules(prng);
      const said = await forgetByPolicy(context, { ...options, dryRun: true });
      const answer = await page.ask('retention', rules);
      expect(answeredOutcome(answer), JSON.stringify(rules)).toEqual(outcomeOf(said));
      expect([answer.staying + answer.going, answer.staying]).toEqual([
        20,
        said.groups.flatMap(({ kept }) => kept).length,
      ]);
      sizes.add(answer.storedBytes);
    }
    expect(sizes.size).toBeGreaterThan(10);
    expect(page.failures).toEqual([]);
  });

  it('means by its rules what `forget` means by its options, also by a limit of the size', async () => {
    const { context, directory } = await makeYears(createPrng(12));
    const page = await servePage(context);
    const { bytes } = await page.ask('storage');
    for (const rules of [
      { 'keep-last': '2', 'keep-yearly': 'unlimited', 'keep-within': '2w', 'group-by': '' },
      { 'keep-daily': '30', 'keep-size': `${bytes - 10_000}`, 'group-by': 'host' },
    ]) {
      const options = Object.entries(rules).flatMap(([name, value]) => [`--${name}`, value]);
      const args = ['-r', join(directory, 'repository'), 'forget', '--dry-run', '--json', ...options];
      const { stdout, stderr, code } = await runLdm(args);
      expect([code, stderr]).toEqual([0, '']);
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      const summary = lines.find((line) => line['message_type'] === 'summary')!;
      const answer = await page.ask('retention', rules);
      expect(answer).toMatchObject({ staying: summary['kept_snapshots'], going: summary['removed_snapshots'] });
      expect(answer.going).toBeGreaterThan(0);
      expect(answer.size?.expectedBytes).toBe(summary['size_expected']);
      expect(Object.values(summary)).toContain(answer.storedBytes);
      const hasSize = 'keep-size' in rules;
      const reasons = answer.groups.flatMap(({ snapshots }) =>
        snapshots.filter(({ stays }) => !stays).flatMap((row) => row.reasons),
      );
      expect(reasons.some((reason) => reason.startsWith('size: frees'))).toBe(hasSize);
    }
  });

  it('says what is wrong with a rule and with a limit that is too small, and ends when the question is taken back', async () => {
    const { context } = await makeYears(createPrng(13));
    const page = await servePage(context);
    await expect(page.ask('retention', { 'keep-daily': '-1' })).rejects.toThrow('400: keep-daily cannot be "-1"');
    await expect(page.ask('retention', { 'keep-within': 'soon' })).rejects.toThrow('400: keep-within');
    await expect(page.ask('retention', { 'keep-size': '1 elephant' })).rejects.toThrow('400: keep-size');
    await expect(page.ask('retention', { 'keep-last': '1', 'group-by': 'size' })).rejects.toThrow('400: group-by');
    await expect(page.ask('retention')).rejects.toThrow('400: no rule says what to keep');
    const authorization = `Bearer ${page.token}`;
    const { body, status } = await page.raw('/api/retention?keep-size=1', { authorization });
    expect([status, (JSON.parse(body.toString()) as { hint: string }).hint]).toEqual([
      500,
      expect.stringContaining('Give a larger size'),
    ]);
    expect(page.failures).toEqual([]);
    const repository = new CurrentRepository(context);
    const answer = answerRetention(repository, new URLSearchParams({ 'keep-last': '1' }), AbortSignal.abort());
    await expect(answer).rejects.toThrow(CancelledError);
    await repository.close();
  });
});

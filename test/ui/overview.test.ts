import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { checksDirectoryOf, rememberCheck } from '../../src/console/check-memory.ts';
import { RunRecords, runsDirectory } from '../../src/console/jobs/run-records.ts';
import { textOf } from '../../src/core/util/byte-string.ts';
import { check } from '../../src/verbs/check/check.ts';
import { findOverdueGroups } from '../../src/verbs/overdue/group-ages.ts';
import { createPrng } from '../support/prng.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { servePage } from './support.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ZONES = [
  ['UTC', 0],
  ['Asia/Kolkata', 330],
  ['Pacific/Honolulu', -600],
  ['Pacific/Kiritimati', 840],
] as const;

beforeEach(() => void vi.stubEnv('XDG_STATE_HOME', memoryDirectory()));
afterEach(() => void vi.unstubAllEnvs());

describe('the overview of the page', () => {
  it('says of each host and set of paths what `ldm overdue` says, and has the days of all snapshots', async () => {
    const { context, backup, source } = await makeTestRepository();
    writeFileSync(join(source, 'file'), 'content');
    const ages = [0, 1, 25, 27, 100, 5000];
    for (const [index, hours] of ages.entries()) {
      const time = new Date(Date.now() - hours * HOUR_MS).toISOString();
      const sources = index % 2 === 0 ? [source] : [source, join(source, 'file')];
      await backup({ time, hostname: index < 3 ? 'near' : 'far', sources });
    }
    const page = await servePage(context);
    for (const hours of ['', '1', '26', '99']) {
      const { groups, unreadableCount } = await page.ask('overview', hours === '' ? {} : { hours });
      const maxAgeMs = Number(hours || 26) * HOUR_MS;
      const said = await findOverdueGroups(context, { maxAgeMs, groupBy: ['host', 'paths'] });
      expect(unreadableCount).toBe(0);
      expect(
        groups.map((group) => [group.host, group.paths.map(({ text }) => text), group.newest?.time, group.isOverdue]),
      ).toEqual(
        said.groups.map(({ group, newest, isOverdue }) => [group.host, group.paths!.map(textOf), newest, isOverdue]),
      );
      expect(groups.map(({ snapshots }) => snapshots)).toEqual(said.groups.map(({ group }) => group.listings.length));
      const counts = groups.flatMap(({ days }) => days.map(({ snapshots }) => snapshots));
      expect(counts.reduce((sum, count) => sum + count)).toBe(ages.length);
    }
    await expect(page.ask('overview', { hours: '-1' })).rejects.toThrow('400: hours');
    expect(page.failures).toEqual([]);
  });

  it('counts the days of the clock where the backup was made, and the snapshots that lack files', async () => {
    const { context, backup, source } = await makeTestRepository();
    const lost = join(source, 'lost');
    writeFileSync(join(source, 'file'), 'content');
    const expected = new Map<string, { snapshots: number; flawed: number }>();
    for (let index = 0; index < 12; index += 1) {
      const isFlawed = index % 3 === 0;
      const timeMs = Date.UTC(2026, 0, 1) + index * 7 * HOUR_MS;
      const [zone, offsetMinutes] = ZONES[index % ZONES.length]!;
      vi.stubEnv('TZ', zone);
      const { summary } = await backup({
        time: new Date(timeMs).toISOString(),
        sources: isFlawed ? [source, lost] : [source],
        hostname: 'host',
      });
      const local = new Date(timeMs + offsetMinutes * 60_000).toISOString();
      expect(summary.errorCount > 0).toBe(isFlawed);
      const day = local.slice(0, 10);
      const { snapshots, flawed } = expected.get(day) ?? { snapshots: 0, flawed: 0 };
      expected.set(day, { snapshots: snapshots + 1, flawed: flawed + (isFlawed ? 1 : 0) });
    }
    const { groups } = await (await servePage(context)).ask('overview');
    const days = groups.flatMap((group) => group.days);
    expect(new Map(days.map(({ day, ...counts }) => [day, counts]))).toEqual(expected);
  });

  it('says how large the repository is, and what checks have verified', async () => {
    const { context, backup, source } = await makeTestRepository();
    for (let number = 0; number < 3; number += 1) {
      writeFileSync(join(source, `file-${number}`), createPrng(number).bytes(20_000));
      await backup();
    }
    const page = await servePage(context);
    const before = await page.ask('storage');
    expect(before).toMatchObject({ verifiedBytes: 0, freeBytes: expect.any(Number) as number });
    expect([before.lastCheck, before.oldestVerified]).toEqual([undefined, undefined]);
    const startMs = Date.now() - 10 * DAY_MS;
    const part = await check(context, { maxAgeMs: DAY_MS, readData: { percent: 40 }, now: () => startMs });
    const after = await page.ask('storage');
    expect(after.packBytes).toBe(part.packBytes);
    expect(after.verifiedBytes).toBe(part.packBytes - part.left!.bytes);
    expect(after.verifiedBytes).toBeGreaterThan(0);
    expect(after.verifiedBytes).toBeLessThan(after.packBytes);
    await check(context, { maxAgeMs: 30 * DAY_MS });
    const { oldestVerified } = after;
    expect(await page.ask('storage')).toMatchObject({ verifiedBytes: after.packBytes, oldestVerified });
    expect(Date.parse(oldestVerified!)).toBe(startMs);
    const lastCheck = { time: '2026-01-02T03:04:05Z', readShare: 0.25, errorCount: 2 };
    rememberCheck(checksDirectoryOf(process.env), part.repositoryId, lastCheck);
    expect((await page.ask('storage')).lastCheck).toEqual(lastCheck);
  });

  it('lists the last runs of profiles, and says which records cannot be read', async () => {
    const { context } = await makeTestRepository();
    const page = await servePage(context);
    expect(await page.ask('runs')).toEqual({ runs: [], problems: [] });
    const home = new RunRecords(runsDirectory(process.env)!, 'home');
    for (let number = 0; number < 25; number += 1) {
      const start = new Date(Date.UTC(2026, 0, 1 + number)).toISOString();
      home.begin(`${number}`, start);
      const steps = [{ name: 'backup', start, exitCode: 1 }];
      home.end({ id: `${number}`, start, result: 'failed', exitCode: 1, durationMs: 5, message: 'why', steps });
    }
    writeFileSync(home.path, 'not json\n', { flag: 'a' });
    const { runs, problems } = await page.ask('runs');
    expect(runs).toHaveLength(20);
    expect(runs[0]).toEqual({
      profile: 'home',
      start: '2026-01-25T00:00:00.000Z',
      result: 'failed',
      durationMs: 5,
      details: 'backup 1; why',
    });
    expect(problems).toEqual([expect.stringContaining('this line is damaged')]);
  });
});

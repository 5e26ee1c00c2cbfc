import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

import { nextRun, parseSchedule } from '../../../src/console/jobs/schedule-words.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { missingTools, testNeeding } from '../../support/tools.ts';

const SCHEDULES = ['hourly', 'daily', 'weekly', 'monthly', '03:30', 'Mon..Fri 12:00', 'Mon,Thu 03:30', 'Sun 23:59'];
const YEAR_S = 365 * 86_400;

for (const seed of seedsOf(1, 5)) {
  testNeeding(missingTools('systemd-analyze'))(`the next run is when systemd begins it (seed ${seed})`, () => {
    const random = createPrng(seed);
    for (const text of SCHEDULES) {
      const schedule = parseSchedule(text)!;
      const after = new Date((1_800_000_000 + random.int(YEAR_S)) * 1000);
      const words = ['calendar', `--base-time=@${after.getTime() / 1000}`, schedule.calendar];
      const { stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
      const [, day, time] = /Next elapse: \w+ (\S+) (\S+)/.exec(stdout)!;
      const local = new Date(`${day}T${time}`);
      expect(nextRun(schedule, after), `${text} after ${after.toISOString()}`).toEqual(local);
    }
  });
}

it('a run at this very second is not the next one', () => {
  const schedule = parseSchedule('03:30')!;
  expect(nextRun(schedule, new Date(2026, 0, 31, 3, 30))).toEqual(new Date(2026, 1, 1, 3, 30));
  expect(nextRun(schedule, new Date(2026, 0, 31, 3, 29, 59))).toEqual(new Date(2026, 0, 31, 3, 30));
});

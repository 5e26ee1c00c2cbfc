import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { formatMetrics } from '../../../src/console/jobs/metrics.ts';
import type { RunRecord } from '../../../src/console/jobs/run-records.ts';
import { parseMetrics } from '../../support/prometheus-text.ts';
import { testProperty } from '../../support/property.ts';
import { HOME, setRunStage } from '../../support/run-stage.ts';

const WITH_FILE = `${HOME}[profiles.home.check]\n[profiles.home.run]\nmetrics-file = "@/m.prom"\n`;

it('the metrics of a profile are those of its last run, but for the files in the backup', async () => {
  const { place, ldm } = await setRunStage(WITH_FILE);
  await ldm('-q', 'run', 'home');
  const written = parseMetrics(readFileSync(join(place, 'm.prom'), 'utf8'));
  const { code, stdout, stderr } = await ldm('-p', 'home', 'stats', '--metrics');
  expect([code, stderr]).toEqual([0, '']);
  const printed = parseMetrics(stdout);
  expect(written.size).toBe(10);
  expect(written.get('ldm_backup_files')).toHaveLength(3);
  written.delete('ldm_backup_files');
  expect(printed).toEqual(written);
  expect(printed.get('ldm_repository_snapshots')).toEqual([{ labels: { profile: 'home' }, value: 1 }]);
});

it('without a profile, they are those of the repository', async () => {
  const { place, ldm } = await setRunStage(HOME);
  await ldm('-p', 'home', 'backup');
  const { stdout } = await ldm('-r', join(place, 'repository'), 'stats', '--metrics');
  const metrics = parseMetrics(stdout);
  expect([...metrics.keys()]).toEqual([
    'ldm_repository_bytes',
    'ldm_repository_snapshots',
    'ldm_repository_dead_bytes',
  ]);
  const [{ labels, value }] = metrics.get('ldm_repository_snapshots') as [{ labels: object; value: number }];
  expect([labels, value]).toEqual([{ repository: join(place, 'repository') }, 1]);
  const both = await ldm('-r', join(place, 'repository'), 'stats', '--metrics', '--json');
  expect(both).toMatchObject({ code: 2, stdout: '' });
});

it('runs that were skipped or go on are not the last run, and records that cannot be read are reported', async () => {
  const { place, ldm, records } = await setRunStage(`${HOME}[profiles.home.run]\nonly-if = ["mounted:@/source"]\n`);
  await ldm('-p', 'home', 'backup');
  await ldm('run', 'home');
  const skipped = await ldm('-p', 'home', 'stats', '--metrics');
  expect(parseMetrics(skipped.stdout).has('ldm_run_last_exit_code')).toBe(false);
  rmSync(records().path);
  mkdirSync(records().path);
  const unreadable = await ldm('-p', 'home', 'stats', '--metrics');
  expect(unreadable).toMatchObject({ code: 0, stderr: expect.stringContaining('cannot be read') });
  expect([place, parseMetrics(unreadable.stdout).size]).toEqual([place, 3]);
});

const RUN: RunRecord = {
  id: 'x',
  start: '2026-01-31T12:00:00Z',
  result: 'success',
  exitCode: 0,
  durationMs: 1234.5,
  steps: [{ name: 'check', start: '2026-01-31T12:00:00Z', exitCode: 0 }],
};

testProperty('every label and number is in the format', (check) => {
  const count = fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined });
  const label = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('"', '\\', '\n', '\\n', '",x="', '}', '\r', '\u2028'),
  );
  check(
    fc.property(label, count, count, fc.nat(), (profile, added, dead, durationMs) => {
      const text = formatMetrics({
        labels: { profile },
        runs: [{ ...RUN, durationMs }],
        backup: { files_new: added, files_changed: 0, data_added: added },
        stats: { repository_bytes: added, packs: { dead_bytes: dead } },
      });
      const metrics = parseMetrics(text);
      expect(metrics.get('ldm_run_last_exit_code')).toEqual([{ labels: { profile }, value: 0 }]);
      expect(metrics.get('ldm_run_duration_seconds')![0]!.value).toBeCloseTo(durationMs / 1000);
      expect(metrics.get('ldm_repository_dead_bytes')?.[0]?.value).toBe(dead);
    }),
    { numRuns: 200 },
  );
});

// `promtool check metrics`, of a package of 96 MB, is less strict. It finds no fault in what these tests print.
it.each([
  ['', 'the last line has no end'],
  ['# HELP a_b x\na_b{} 1\n', 'a_b has no type'],
  ['# HELP a_b x\n# TYPE a_b gauge\n', 'a_b has no samples'],
  ['# HELP a_b x\n# TYPE a_b gauge\na_b{} 1\na_b{} 2\n', 'twice'],
  ['# HELP a_b x\n# TYPE a_b gauge\na_b{x="1",x="2"} 1\n', 'wrong labels'],
  ['# HELP a_b x\n# TYPE a_b gauge\na_b{x="a"b"} 1\n', 'wrong labels'],
  ['# HELP a_b x\n# TYPE a_b gauge\na_b{x="\\q"} 1\n', 'wrong labels'],
  ['# HELP a_b x\n# TYPE a_b gauge\na_b{} x\n', 'no line of the format'],
  ['# HELP a_b x\n# TYPE a_b gauge\na_c{} 1\n', 'a_c is not below its type'],
  ['# HELP a_total x\n# TYPE a_total gauge\na_total{} 1\n', 'a gauge is called a_total'],
])('the reader of these tests refuses %j', (text, problem) => {
  expect(() => parseMetrics(text)).toThrow(problem);
});

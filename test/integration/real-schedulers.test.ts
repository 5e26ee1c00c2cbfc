import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { nextRun, parseSchedule } from '../../src/console/jobs/schedule-words.ts';
import { formatTime } from '../../src/core/util/format-time.ts';
import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { HOME } from '../support/run-stage.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { missingTools, testNeeding } from '../support/tools.ts';
import { NO_ROOT } from '../support/unprivileged.ts';

/** All forms of a schedule. */
const FORMS = ['hourly', 'daily', 'weekly', 'monthly', '03:30', 'Mon..Fri 12:00', 'Mon,Thu 03:30', 'sun 23:59'];

/** Debian's crontab and cron, whose places are those of this machine only in names: the real ones are never seen. */
const OWN_CRON = `set -eu
mount -t tmpfs none /var/spool/cron
mkdir -m 1730 /var/spool/cron/crontabs
mount -t tmpfs none /run
`;

function cronProblem(): string {
  const missing = missingTools('crontab', 'cron', 'unshare');
  if (missing !== '' || NO_ROOT !== '') return missing || NO_ROOT;
  const { status } = spawnSync('unshare', ['--mount', '--pid', '--fork', '--mount-proc', 'sh', '-c', OWN_CRON]);
  return status === 0 ? '' : 'needs namespaces with mounts of their own';
}

interface Stage {
  readonly at: (...names: string[]) => string;
  /** Runs a script with a cron of its own; `ldm` is the built program. */
  readonly run: (script: string) => {
    readonly status: number | null;
    readonly stdout: string;
    readonly stderr: string;
  };
}

/** A machine with a profile for each of these schedules. Its names have what cron and shells treat in special ways. */
function makeStage(schedules: readonly string[]): Stage {
  const place = join(memoryDirectory(), "it's 100% mine");
  const at = (...names: string[]): string => join(place, ...names);
  for (const name of ['config/ldm', 'source', 'bin']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('source', 'file'), 'content');
  const profiles = schedules.map(
    (schedule, index) =>
      `[profiles.p${index}]\ninherit = ["home"]\n[profiles.p${index}.run]\nschedule = "${schedule}"\n`,
  );
  writeFileSync(at('config', 'ldm', 'config.toml'), [HOME.replaceAll('@', place), ...profiles].join('\n'));
  writeFileSync(at('bin', 'ldm'), `#!/bin/sh\nexec '${process.execPath}' '${ldmProgram}' "$@"\n`);
  chmodSync(at('bin', 'ldm'), 0o755);
  const xdg = { XDG_CONFIG_HOME: at('config'), XDG_STATE_HOME: at('state'), XDG_CACHE_HOME: at('cache') };
  const env = cleanEnvironment({ ...xdg, PATH: `${at('bin')}:${process.env['PATH']}` });
  return {
    at,
    run: (script) =>
      spawnSync(
        'unshare',
        ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', OWN_CRON + script, 'sh', place],
        { env, encoding: 'utf8', timeout: 200_000, killSignal: 'SIGKILL' },
      ),
  };
}

const problem = cronProblem();

testNeeding(problem)(
  'the crontab of Debian takes every form of schedule, beside the lines of others, and gives it back',
  () => {
    const { run } = makeStage(FORMS);
    const { status, stdout, stderr } = run(`
    printf 'MAILTO=root\n# mine\n15 4 * * * true %%x\n' | crontab -
    crontab -l > "$1/before"
    for index in ${FORMS.map((_, index) => index).join(' ')}; do ldm -q schedule add --cron p$index; done
    crontab -l
    ldm schedule list
    ldm -q schedule remove --all
    crontab -l > "$1/after"
    cmp "$1/before" "$1/after"
  `);
    expect([status, stderr]).toEqual([0, '']);
    for (const [index, form] of FORMS.entries()) {
      expect(stdout).toMatch(
        new RegExp(`^${parseSchedule(form)!.cron.replaceAll('*', '\\*')} PATH=.* run -- p${index}$`, 'm'),
      );
      expect(stdout).toMatch(new RegExp(`^p${index} .* cron .*active$`, 'm'));
    }
  },
);

// Up to a minute: cron has no shorter time. The schedule is that of the next minute, when the program and cron have started.
testNeeding(problem)('cron runs what was scheduled', () => {
  const { at, run } = makeStage([]);
  const { status, stdout, stderr } = run(`
    ldm -q -r "$1/repository" init --no-encryption
    now=$(date +%s)
    printf '[profiles.now]\ninherit = ["home"]\nrun.schedule = "%s"\n' "$(date -d @$((now + 65)) +%H:%M)" >> "$1/config/ldm/config.toml"
    ldm schedule add --cron now
    cron -f &
    for _ in $(seq 150); do
      if test -e "$1/state/ldm/runs/now.jsonl" && grep -q '"exitCode"' "$1/state/ldm/runs/now.jsonl"; then break; fi
      sleep 1
    done
    kill $!
    ldm log now
  `);
  expect([status, stderr, stdout]).toEqual([0, '', expect.stringMatching(/now +success/)]);
  expect(existsSync(at('repository', 'snapshots'))).toBe(true);
  expect(readFileSync(at('state', 'ldm', 'runs', 'now.jsonl'), 'utf8')).toContain('"snapshotId"');
});

testNeeding(missingTools('systemd-analyze'))(
  'systemd takes every form of schedule, for the times that we announce',
  () => {
    const base = '2026-11-27 10:17:00';
    for (const form of FORMS) {
      const schedule = parseSchedule(form)!;
      const args = ['calendar', '--iterations=4', `--base-time=${base}`, schedule.calendar];
      const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      expect([form, status, stderr]).toEqual([form, 0, '']);
      const found = [...stdout.matchAll(/(?:elapse|Iter\. #\d+): \w+ (\S+ \S+)/g)].map(([, time]) => time);
      const announced: string[] = [];
      for (let time = new Date(base); announced.length < 4;) {
        time = nextRun(schedule, time);
        announced.push(formatTime(time.toISOString()));
      }
      expect([form, found]).toEqual([form, announced]);
    }
  },
);

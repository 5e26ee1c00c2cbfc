import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as fc from 'fast-check';
import { expect } from 'vitest';

import { parseSchedule } from '../../../src/console/jobs/schedule-words.ts';
import type { Job } from '../../../src/verbs/schedule/job.ts';
import { unitName, unitsOf } from '../../../src/verbs/schedule/units.ts';
import { testProperty } from '../../support/property.ts';
import { withTemporaryDirectory } from '../../support/temp-directory.ts';
import { missingTools, testNeeding } from '../../support/tools.ts';

const SCHEDULES = ['hourly', 'daily', 'weekly', 'monthly', '03:30', 'Mon..Fri 12:00', 'Mon,Thu 03:30'];

const jobWith = (given: Partial<Job>, schedule = 'daily'): Job => ({
  profile: 'home',
  schedule: parseSchedule(schedule)!,
  program: ['/usr/bin/node', '/usr/bin/ldm'],
  variables: {},
  passwordFile: undefined,
  isPasswordOfEnvironment: false,
  ...given,
});

const valuesOf = (text: string, key: string): string[] =>
  text.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

/** Splits a value into words as systemd.syntax(7) says, and resolves the only specifier that is used, `%%`. */
function wordsOf(value: string): string[] {
  const words = [...value.matchAll(/"((?:[^"\\]|\\.)*)"|([^\s"]+)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain!,
  );
  return words.map((word) => word.replaceAll('%%', '%'));
}

/** What becomes of arguments when the service starts: systemd.service(5) replaces variables. */
const expanded = (words: readonly string[]): string[] => words.map((word) => word.replaceAll('$$', '$'));

const oddText = fc
  .array(
    fc.oneof(fc.constantFrom(...' "\'\\%$;{}#~*=:é日'.split('')), fc.constantFrom(...'abcXYZ0189-_./'.split(''))),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((characters) => `${characters.join('')}x`);

testProperty('names, paths and variables reach the program as they are, whatever is in them', (check) => {
  check(
    fc.property(oddText, oddText, oddText, oddText, (profile, node, ldm, directory) => {
      const variables = { XDG_CONFIG_HOME: `/${directory}` };
      const [service] = unitsOf(jobWith({ profile, program: [`/${node}`, `/${ldm}`], variables }), true);
      const [command, ...more] = valuesOf(service.text, 'ExecStart');
      expect(more).toEqual([]);
      const words = wordsOf(command!);
      const args = expanded(words.slice(1));
      const wanted = [`/${ldm}`, 'run', '--', profile];
      // systemd refuses these in the path of a program.
      if (/["'\\]/.test(node))
        expect([words[0], ...args]).toEqual(['/bin/sh', '-c', 'exec "$0" "$@"', `/${node}`, ...wanted]);
      else expect([words[0], ...args]).toEqual([`/${node}`, ...wanted]);
      expect(valuesOf(service.text, 'Environment').map(wordsOf)).toEqual([[`XDG_CONFIG_HOME=/${directory}`]]);
    }),
  );
});

testProperty('each profile has units of its own, whose names systemd allows', (check) => {
  check(
    fc.property(fc.uniqueArray(oddText, { minLength: 2, maxLength: 5 }), (profiles) => {
      const names = profiles.map(unitName);
      expect(new Set(names).size).toBe(profiles.length);
      for (const name of names) expect(name).toMatch(/^ldm-run-[\w:.\\-]+$/);
    }),
  );
});

testNeeding(missingTools('systemd-analyze'))('systemd finds no fault in the units', async () => {
  await withTemporaryDirectory(async (directory) => {
    const odd = join(directory, `100% "odd" it's $HOME`);
    mkdirSync(odd);
    const jobs = [
      ...SCHEDULES.map((schedule, index) =>
        jobWith({ profile: `p${index}`, program: [process.execPath, odd] }, schedule),
      ),
      jobWith({
        profile: `a b%c "d" 'e' $f \\ é`,
        program: [process.execPath, odd],
        variables: { HOME: odd },
        passwordFile: odd,
      }),
      jobWith({ profile: 'quoted', program: [join(odd, 'node'), odd] }),
    ];
    const paths = [true, false].flatMap((isUser) =>
      jobs.flatMap((job) =>
        unitsOf(job, isUser).map(({ name, text }) => {
          mkdirSync(join(directory, String(isUser)), { recursive: true });
          const path = join(directory, String(isUser), name);
          writeFileSync(path, text);
          return path;
        }),
      ),
    );
    for (const isUser of [true, false]) {
      const mine = paths.filter((path) => path.includes(`/${isUser}/`));
      const { status, stderr } = spawnSync(
        'systemd-analyze',
        ['verify', '--man=no', ...(isUser ? ['--user'] : []), ...mine],
        {
          encoding: 'utf8',
          env: { ...process.env, XDG_RUNTIME_DIR: directory },
        },
      );
      const ours = stderr.split('\n').filter((line) => line.includes('ldm-run-'));
      expect([status, ours], mine.map((path) => basename(path)).join(' ')).toEqual([0, []]);
    }
  });
});

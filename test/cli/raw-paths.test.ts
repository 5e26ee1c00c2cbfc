import { spawnSync } from 'node:child_process';
import { readdirSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { makeScenario } from './scenario.ts';

/** Runs a line of shell, in which `ldm` is the program and `\377` in `$(printf …)` a byte that is no text. */
function shell(directory: string, repository: string | undefined, line: string) {
  const env = cleanEnvironment({ LDM_REPOSITORY: repository });
  const script = `ldm() { '${process.execPath}' '${ldmProgram}' "$@"; }\n${line}`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { cwd: directory, env, encoding: 'latin1' });
  return { code: status, stdout, stderr };
}

function namesIn(directory: Buffer): string[] {
  return readdirSync(directory, 'latin1').toSorted();
}

it.runIf(process.platform === 'linux')('a target that is not UTF-8 is the one that is written to', async () => {
  const { run, directory, repository } = await makeScenario();
  await run(['backup', 'source']);
  const lines = [
    ['ldm restore latest --target="$(printf \'b\\377/./deep/../c\')"', 'b\xff/c'],
    ['mkdir "$(printf \'f\\377\')"; cd "$(printf \'f\\377\')"; ldm restore latest', 'f\xff'],
    [
      'mkdir "$(printf \'g\\377\')"; cd "$(printf \'g\\377\')"; ldm restore latest -t"$(printf \'h\\376/\')"',
      'g\xff/h\xfe',
    ],
    ...inSoak(
      [
        ['ldm restore latest -t "$(printf \'a\\377\')"', 'a\xff'],
        ['ldm restore latest -t"$(printf \'d\\377/\')"', 'd\xff'],
        ['ldm restore latest -t "$PWD/$(printf \'e\\376\')"', 'e\xfe'],
        ['mkdir "$(printf \'i\\377\')"; cd "$(printf \'i\\377\')"; ldm restore latest -t inner', 'i\xff/inner'],
      ],
      [],
    ),
  ] as const;
  for (const [line, target] of lines) {
    expect(shell(directory, repository, line), line).toMatchObject({ code: 0, stderr: '' });
    expect(namesIn(Buffer.from(`${directory}/${target}`, 'latin1')), line).toEqual(['source']);
  }
  const made = namesIn(Buffer.from(directory)).filter((name) => !['repository', 'source'].includes(name));
  expect(made).toEqual(lines.map(([, target]) => target.split('/')[0]!).toSorted());
});

it.runIf(process.platform === 'linux')('of two names that look alike none is written to, read or saved', async () => {
  const { run, directory, source, repository } = await makeScenario();
  await run(['backup', 'source']);
  const [here, there] = ['h\xff', 'h\xfe'].map((name) => Buffer.from(`${directory}/${name}`, 'latin1'));
  for (const place of [here!, there!]) mkdirSync(place);
  const refused = [
    'ldm restore latest -t "$(printf \'h\\377\')" -t "$(printf \'h\\376\')"',
    'ldm backup --exclude="$(printf \'h\\377\')" "$(printf \'h\\376\')"',
    ...inSoak(
      [
        'ldm restore "$(printf \'latest:h\\377\')" -t "$(printf \'latest:h\\376\')"',
        'ldm -q restore latest -vt"$(printf \'h\\377\')"',
        'ldm backup --tag "$(printf \'h\\377\')" "$(printf \'h\\376\')"',
      ],
      [],
    ),
  ];
  for (const line of refused) expect(shell(directory, repository, line).code, line).toBe(2);
  // The current directory looks like the target, and is another.
  const line = 'cd "$(printf \'h\\377\')"; ldm restore latest -t "$OLDPWD/$(printf \'h\\376\')"';
  expect(shell(directory, repository, line), line).toMatchObject({ code: 0, stderr: '' });
  expect([namesIn(here!), namesIn(there!)]).toEqual([[], ['source']]);
  expect(namesIn(Buffer.from(directory))).toEqual(['h\xfe', 'h\xff', 'repository', 'source']);
  expect((await run(['snapshots', '--json'])).stdout.match(/"tree"/g)).toHaveLength(1);
  expect(namesIn(Buffer.from(source))).toEqual(['a.txt', 'sub']);
});

it.runIf(process.platform === 'linux')('a path inside a snapshot that is not UTF-8 can be named', async () => {
  const { run, directory, source, repository } = await makeScenario();
  for (const name of ['bad\xff', 'bad\xfe']) writeFileSync(Buffer.from(`${source}/${name}`, 'latin1'), name, 'latin1');
  await run(['backup', 'source']);
  const listed = shell(directory, repository, 'ldm ls "$(printf \'latest:source/bad\\376\')" --json');
  expect(listed.code).toBe(0);
  expect(listed.stdout).toContain(Buffer.from('source/bad\xfe', 'latin1').toString('base64'));
  const restored = shell(directory, repository, 'ldm restore "$(printf \'latest:source/bad\\377\')" -t out');
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(namesIn(Buffer.from(join(directory, 'out')))).toEqual(['bad\xff']);
});

it.runIf(process.platform === 'linux')('a repository whose place is not UTF-8 is refused, and nothing made', () => {
  const directory = memoryDirectory();
  mkdirSync(Buffer.from(`${directory}/here\xff`, 'latin1'));
  for (const line of [
    'XDG_DATA_HOME="$PWD/$(printf \'x\\377\')" ldm init',
    'ldm -r "$(printf \'r\\377\')" init',
    'cd "$(printf \'here\\377\')"; ldm -r inner init',
  ]) {
    const { code, stderr } = shell(directory, undefined, line);
    expect(code, line).toBe(2);
    expect(stderr).toContain('not UTF-8');
  }
  expect(namesIn(Buffer.from(directory))).toEqual(['here\xff']);
  expect(namesIn(Buffer.from(`${directory}/here\xff`, 'latin1'))).toEqual([]);
});

it.runIf(process.platform === 'linux')('a tag that is not UTF-8 is refused', async () => {
  const { run, directory, repository } = await makeScenario();
  await run(['backup', 'source']);
  for (const line of ['tag latest --add', 'backup source --tag', ...inSoak(['tag latest --set'], [])])
    expect(shell(directory, repository, `ldm ${line} "a,$(printf 'b\\377')"`), line).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Give tags in UTF-8.'),
    });
  expect((await run(['snapshots', '--json'])).stdout).toContain('"tags":[]');
});

import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { makeScenario, parseJsonLines } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

/** A source whose last snapshot differs from it by a new file, a changed one, a changed link and a removed file. */
async function makeChanged(): Promise<Scenario> {
  const scenario = await makeScenario();
  const { source, run } = scenario;
  writeFileSync(join(source, 'gone'), '');
  symlinkSync('a.txt', join(source, 'link'));
  symlinkSync('a.txt', join(source, 'same'));
  await run(['backup', 'source']);
  for (const name of ['gone', 'link']) rmSync(join(source, name));
  symlinkSync('sub', join(source, 'link'));
  writeFileSync(join(source, 'a.txt'), 'alpha and more');
  writeFileSync(join(source, 'new'), 'new');
  writeFileSync(join(source, 'x.log'), 'log');
  return scenario;
}

const listed = (stdout: string, source: string): string[] =>
  stdout
    .split('\n')
    .filter((line) => /^[+M x] \//.test(line))
    .map((line) => line.replace(source, ''));

describe('backup', () => {
  const CHANGES = ['M /a.txt', 'M /link', '+ /new'];

  it.each([['-n'], ['--force']])('-v %s lists what is new or changed', async (...dryRun) => {
    const { run, source } = await makeChanged();
    const { stdout } = await run(['backup', '-v', 'source', '-e', '*.log', ...dryRun]);
    expect(listed(stdout, source)).toEqual(CHANGES);
  });

  it('-vv lists everything, also what is excluded', async () => {
    const { run, source } = await makeChanged();
    const { stdout } = await run(['backup', '-vv', '-n', 'source', '-e', '*.log']);
    const rest = ['  /same', '  /sub/b.txt', '  /sub/', 'x /x.log', 'M /'];
    expect(listed(stdout, source).toSorted()).toEqual([...CHANGES, ...rest].toSorted());
  });

  it('lists nothing without -v or with -q', async () => {
    const { run, source } = await makeChanged();
    expect(listed((await run(['backup', '-n', 'source'])).stdout, source)).toEqual([]);
    expect((await run(['backup', '-n', '-v', '-q', 'source'])).stdout).toBe('');
  });

  it('lists with --json as restic does', async () => {
    const { run, source } = await makeChanged();
    const { stdout } = await run(['backup', '-n', '-v', '--json', 'source']);
    const entries = parseJsonLines(stdout).filter(({ message_type: type }) => type === 'verbose_status');
    expect(entries).toContainEqual({
      message_type: 'verbose_status',
      action: 'modified',
      item: join(source, 'a.txt'),
      path: join(source, 'a.txt'),
      type: 'file',
    });
    expect(entries.map(({ action }) => action)).toEqual(['modified', 'modified', 'new', 'new']);
  });
});

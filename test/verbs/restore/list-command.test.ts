import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { makeScenario, parseJsonLines } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

/** A restored tree that lacks a file and a directory of the snapshot, and has a changed file and a changed link. */
async function makeChanged(): Promise<Scenario & { readonly target: string }> {
  const scenario = await makeScenario();
  const { source, run } = scenario;
  symlinkSync('a.txt', join(source, 'link'));
  mkdirSync(join(source, 'extra'));
  writeFileSync(join(source, 'extra', 'c.txt'), 'gamma');
  await run(['backup', 'source']);
  const target = join(scenario.directory, 'target');
  await run(['restore', 'latest:source', '-t', target]);
  writeFileSync(join(target, 'a.txt'), 'changed');
  utimesSync(join(target, 'a.txt'), 1000, 1000);
  for (const name of ['link', 'extra', 'sub/b.txt']) rmSync(join(target, name), { recursive: true });
  symlinkSync('sub', join(target, 'link'));
  return { ...scenario, target };
}

const listed = (stdout: string): string[] =>
  stdout
    .split('\n')
    .filter((line) => /^[+M -] \S/.test(line))
    .toSorted();

const CHANGES = ['+ extra/', '+ extra/c.txt', '+ sub/b.txt', 'M a.txt', 'M link'];

it.each([['-n', '-v'], ['-v']])('restore %s %s lists what is written', async (...options) => {
  const { run, target } = await makeChanged();
  const restore = ['restore', 'latest:source', '-t', target, '--overwrite', 'if-changed'];
  expect(listed((await run([...restore, ...options])).stdout)).toEqual(CHANGES);
});

it('restore -vv lists everything', async () => {
  const { run, target } = await makeChanged();
  const { stdout } = await run(['restore', 'latest:source', '-n', '-vv', '-t', target, '--overwrite', 'if-changed']);
  expect(listed(stdout)).toEqual(['  sub/', ...CHANGES].toSorted());
});

it('restore --json has the words and counters of restic', async () => {
  const { run, target } = await makeChanged();
  const { stdout } = await run([
    'restore',
    'latest:source',
    '-vv',
    '--json',
    '-t',
    target,
    '--overwrite',
    'if-changed',
  ]);
  const messages = parseJsonLines(stdout);
  const entries = messages.filter(({ message_type: type }) => type === 'verbose_status');
  expect(entries.map(({ action, item, size }) => [action, item, size])).toEqual(
    expect.arrayContaining([
      ['updated', 'a.txt', readFileSync(join(target, 'a.txt')).length],
      ['restored', 'extra/c.txt', 5],
      ['restored', 'extra', 0],
      ['unchanged', 'sub', 0],
    ]),
  );
  const again = await run(['restore', 'latest:source', '--json', '-t', target]);
  const { files_restored, files_skipped, total_bytes, bytes_restored, bytes_skipped } = parseJsonLines(
    again.stdout,
  ).find(({ message_type: type }) => type === 'summary')!;
  expect({ files_restored, bytes_restored }).toEqual({ files_restored: 0, bytes_restored: 0 });
  expect(files_skipped).toBeGreaterThan(2);
  expect(bytes_skipped).toBe(total_bytes);
});

it('restore --delete lists and counts what it deletes', async () => {
  const { run, target } = await makeChanged();
  mkdirSync(join(target, 'more'));
  writeFileSync(join(target, 'more', 'x'), '');
  const restore = ['restore', 'latest:source', '-t', target, '--delete'];
  const dry = await run([...restore, '-n', '-v']);
  expect(listed(dry.stdout)).toEqual([...CHANGES, '- more/', '- more/x'].toSorted());
  expect(dry.stdout).toContain('would delete 1 file and 1 directory that are not in the snapshot');
  const { stdout } = await run([...restore, '--json']);
  expect(parseJsonLines(stdout).at(-1)).toMatchObject({ files_deleted: 1, directories_deleted: 1, deletes_failed: 0 });
  expect(existsSync(join(target, 'more'))).toBe(false);
  const refused = await run(['restore', 'latest', '--delete']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
});

it('replaces nothing in the current directory unless it is named', async () => {
  const { run, directory } = await makeChanged();
  const unnamed = await run(['restore', 'latest', '--overwrite', 'always']);
  expect(unnamed.code).toBe(2);
  expect(unnamed.stderr).toContain('--target .');
  expect((await run(['restore', 'latest', '--original', '-t', directory])).code).toBe(2);
  expect((await run(['restore', 'latest:source', '-t', '.'])).code).toBe(0);
});

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeScenario } from './scenario.ts';

it('snapshots are chosen by host, path, tag and time, and latest is not guessed at', async () => {
  const { run, runJson, directory } = await makeScenario();
  const backup = async (...args: string[]): Promise<string> => {
    const { messages } = await runJson(['backup', ...args]);
    return messages.find(({ message_type: type }) => type === 'summary')!['snapshot_id'] as string;
  };
  const first = await backup('source', '-H', 'one', '--tag', 'x,y', '--tag', ' x ', '--time', '2020-01-01');
  const second = await backup('source', '-H', 'two', '--tag', 'y', '--time', '2020-01-02');
  const third = await backup('source/sub', '-H', 'two', '--time', '2020-01-03');
  const ids = async (...args: string[]): Promise<unknown[]> =>
    (await runJson(['snapshots', ...args])).messages.map(({ id }) => id);
  expect((await runJson(['snapshots', '--tag', 'x'])).messages[0]).toMatchObject({ tags: ['x', 'y'] });
  expect(await ids('--tag', 'x,y', '--tag', 'z')).toEqual([first]);
  expect(await ids('-H', 'one', '-H', 'two', '--path', 'source')).toEqual([first, second]);
  expect(await ids('--since', '2020-01-02', '--before', '2020-01-03')).toEqual([second]);

  const listed = await run(['ls', 'latest']);
  expect(listed).toMatchObject({ code: 0, stdout: 'sub\nsub/b.txt\n' });
  expect(listed.stderr).toMatch(new RegExp(`^ldm: latest is ${third.slice(0, 12)} of 2020-01-03 .*3 different`));
  expect((await run(['ls', 'latest', '-q'])).stderr).toBe('');
  expect(await run(['ls', 'latest', '-H', 'one'])).toMatchObject({ code: 0, stderr: '' });
  const restored = await run(['restore', 'latest', '--tag', 'y', '--before', '2020-01-02', '-t', 'out', '--json']);
  expect(restored.stdout).toContain(first);

  for (const args of [[], ['--dry-run'], ['-H', 'two']]) {
    const { code, stderr } = await run(['delete', 'latest', ...args]);
    expect(stderr).toMatch(/^ldm: latest is ambiguous.*\nNothing was deleted/);
    expect(code).toBe(1);
  }
  expect(await run(['delete', first, '-H', 'two'])).toMatchObject({ code: 1 });
  expect((await run(['delete', 'latest', '-H', 'two', '--path', 'source', '--no-reclaim'])).code).toBe(0);
  expect(await ids()).toEqual([first, third]);
  expect((await run(['undelete', 'latest', '--tag', 'y'])).code).toBe(0);
  expect(await ids()).toEqual([first, second, third]);
  expect(existsSync(join(directory, 'out', 'source', 'a.txt'))).toBe(true);
});

it('~/ in a repository and a target is the home directory', async () => {
  const { run, directory } = await makeScenario();
  const home = join(directory, 'home');
  mkdirSync(home);
  const env = { HOME: home, LDM_REPOSITORY: undefined };
  expect((await run(['init', '--no-encryption', '-r', '~/r'], { env })).code).toBe(0);
  expect((await run(['backup', 'source'], { env: { ...env, LDM_REPOSITORY: '~/r' } })).code).toBe(0);
  const { code, stdout } = await run(['restore', 'latest', '-r', '~/r', '--target=~/out'], { env });
  expect([code, stdout.includes(join(home, 'out'))]).toEqual([0, true]);
  expect(existsSync(join(home, 'out', 'source', 'a.txt'))).toBe(true);
});

it('an environment variable stands for a global option', async () => {
  const { run } = await makeScenario();
  const quiet = await run(['backup', 'source'], { env: { LDM_QUIET: '1' } });
  expect(quiet).toMatchObject({ code: 0, stdout: '', stderr: '' });
  const { stdout } = await run(['snapshots'], { env: { LDM_JSON: '1', LDM_NO_PROGRESS: '1' } });
  expect(JSON.parse(stdout)).toMatchObject({ message_type: 'snapshot' });
  const failed = await run(['ls', 'ffff'], { env: { LDM_JSON: 'true' } });
  expect(JSON.parse(failed.stderr)).toMatchObject({ message_type: 'exit_error', code: 1 });
});

it('excludes that match nothing are reported, and the repository is named where it is left out', async () => {
  const { run, runJson, directory, repository } = await makeScenario();
  const args = ['backup', directory, '-e', 'a.txt', '-e', 'typo', '-e', '/no\u001bwhere'];
  const { code, stdout, stderr } = await run(args);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('the exclude pattern "typo" matched nothing\n');
  expect(stdout).toContain('the exclude pattern "/no\\x1bwhere" matched nothing\n');
  expect(stdout).toContain(`left out this repository, ${repository}\n`);
  const { messages } = await runJson(args);
  const summary = messages.find(({ message_type: type }) => type === 'summary');
  expect(summary).toMatchObject({ excludes_unmatched: ['typo', '/no\u001bwhere'], repositories_skipped: [repository] });
});

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

async function makeChanged(): Promise<Scenario> {
  const scenario = await makeScenario();
  const { source } = scenario;
  writeFileSync(join(source, 'kept'), 'content that moves');
  await scenario.run(['backup', 'source']);
  rmSync(join(source, 'a.txt'));
  writeFileSync(join(source, 'sub', 'b.txt'), 'another');
  mkdirSync(join(source, 'new'));
  renameSync(join(source, 'kept'), join(source, 'new', 'moved'));
  return scenario;
}

const LINES = (source: string): string[] => [
  `-    ${source}/a.txt`,
  `+    ${source}/new/`,
  `R    ${source}/kept -> ${source}/new/moved`,
  `M    ${source}/sub/b.txt`,
];

it('prints a line for each change, then the counts', async () => {
  const { run, source } = await makeChanged();
  const live = await run(['diff', 'latest']);
  expect(live.code).toBe(0);
  expect(live.stdout.split('\n').slice(0, 5)).toEqual([...LINES(source), '']);
  expect(live.stdout).toMatch(/^files +0 new, 1 changed, 1 moved, 1 removed$/m);
  await run(['backup', 'source']);
  const both = await run(['diff', 'latest~1', 'latest']);
  expect(both.stdout.split('\n').slice(0, 4)).toEqual(LINES(source));
  expect(both.stdout).toMatch(/^added +\d+ B only in [0-9a-f]{8} \(1 chunk, 4 trees\)$/m);
  expect((await run(['-q', 'diff', 'latest~1', 'latest'])).stdout.split('\n')).toEqual([...LINES(source), '']);
  expect((await run(['diff', '--stat', 'latest~1', 'latest'])).stdout).toMatch(/^files .*\ndirectories .*\nothers /);
});

it('compares the two newest snapshots of one host and its paths, if none is named', async () => {
  const { run, runJson, source, directory } = await makeChanged();
  const backup = async (...args: string[]): Promise<string> => {
    const { messages } = await runJson(['backup', ...args]);
    return messages.find(({ message_type: type }) => type === 'summary')!['snapshot_id'] as string;
  };
  const compared = async (...args: string[]): Promise<unknown[]> => {
    const { messages } = await runJson(['diff', ...args]);
    const found = messages.find(({ message_type: type }) => type === 'statistics')!;
    return [found['source_snapshot'], found['target_snapshot']];
  };
  const alone = await run(['diff']);
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('no earlier snapshot of the same host')]);
  await backup('source');
  const third = await backup('source');
  await backup('source', '--host', 'other');
  const fourth = await backup('source');
  writeFileSync(join(directory, 'beside'), 'x');
  const beside = await backup('beside');
  expect((await run(['diff'])).stderr).toContain('no earlier snapshot');
  const besideAgain = await backup('beside');
  expect(await compared()).toEqual([beside, besideAgain]);
  expect(await compared('--path', source)).toEqual([third, fourth]);
  expect((await run(['diff', '--host', 'other'])).code).toBe(1);
  const { stdout } = await run(['diff', '--path', source]);
  expect(stdout.split('\n')[0]).toMatch(
    new RegExp(`^snapshot ${third.slice(0, 12)} of .* and snapshot [0-9a-f]{12} of `),
  );
  expect((await run(['diff', '--exclude', 'x'])).code).toBe(2);
});

it("has restic's names in JSON", async () => {
  const { run, runJson, source } = await makeChanged();
  await run(['backup', 'source']);
  const { messages } = await runJson(['diff', 'latest~1', 'latest']);
  expect(messages.slice(0, -1)).toEqual([
    { message_type: 'change', path: `${source}/a.txt`, modifier: '-' },
    { message_type: 'change', path: `${source}/new/`, modifier: '+' },
    { message_type: 'change', path: `${source}/new/moved`, modifier: 'R', source_path: `${source}/kept` },
    { message_type: 'change', path: `${source}/sub/b.txt`, modifier: 'M' },
  ]);
  expect(messages.at(-1)).toMatchObject({
    message_type: 'statistics',
    source_snapshot: expect.stringMatching(/^[0-9a-f]{64}$/),
    target_snapshot: expect.stringMatching(/^[0-9a-f]{64}$/),
    changed_files: 1,
    added: { files: 0, dirs: 1, others: 0, data_blobs: 1, tree_blobs: 4, bytes: expect.any(Number) },
    removed: { files: 1, dirs: 0, others: 0, data_blobs: 2, tree_blobs: 3 },
  });
});

it('refuses what is neither a snapshot nor on this machine', async () => {
  const { run } = await makeChanged();
  const absent = await run(['diff', 'latest', 'nowhere']);
  expect(absent).toMatchObject({ code: 1, stdout: '' });
  expect(absent.stderr).toContain('ldm: nowhere is neither a snapshot nor a directory\nGive 4 or more digits');
  expect((await run(['diff', 'latest', '123'])).stderr).toContain('123 is neither a snapshot nor a directory');
  expect((await run(['diff', 'latest', './123'])).stderr).toContain('no such file or directory');
  expect((await run(['diff', 'latest', 'beef'])).stderr).toContain('no snapshot id begins with beef');
  expect((await run(['diff', 'latest:source/sub', 'latest:source/a.txt'])).code).toBe(2);
});

import { readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { nativeCalls } from '../../../src/core/files/native/native.ts';
import { STATX_CURRENT_DIRECTORY, STATX_NO_FOLLOW, statx } from '../../../src/core/files/native/statx.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { kindOfPack } from '../../support/pack-kind.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

async function makeTwo(): Promise<Scenario & { readonly ids: readonly string[] }> {
  const scenario = await makeScenario();
  await scenario.run(['backup', 'source', '--time', '2026-01-02T03:04:05Z']);
  rmSync(join(scenario.source, 'a.txt'));
  writeFileSync(join(scenario.source, 'sub', 'b.txt'), 'another');
  await scenario.run(['backup', 'source', '--time', '2026-01-03T03:04:05Z']);
  const listings = await listSnapshots({ backend: new LocalBackend(scenario.repository) });
  return { ...scenario, ids: listings.map(({ id }) => id) };
}

it('find prints a line for each entry, with its snapshot', async () => {
  const { run, source, ids } = await makeTwo();
  const [first, second] = ids.map((id) => id.slice(0, 8));
  const { code, stdout } = await run(['find', '*.txt'], { env: { TZ: 'UTC' } });
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    `${first}  2026-01-02 03:04:05  ${source}/a.txt`,
    `${first}  2026-01-02 03:04:05  ${source}/sub/b.txt`,
    `${second}  2026-01-03 03:04:05  ${source}/sub/b.txt`,
    'found 3 entries; searched 2 snapshots; times are in UTC',
    '',
  ]);
  const newest = await run(['-q', 'find', '--newest', '-i', '-l', 'SUB/*']);
  expect(newest.stdout).toMatch(new RegExp(`^${second}  .* -rw.* 7 .*sub/b.txt\n$`));
  expect((await run(['find', 'nothing'])).code).toBe(0);
  expect((await run(['find', '['])).code).toBe(2);
  expect((await run(['find', '-s', 'latest~7', 'x'])).code).toBe(1);
});

it('find says the zone of its times, and both if daylight saving time begins between them', async () => {
  const { run } = await makeTwo();
  const env = { TZ: 'Europe/Berlin' };
  const winter = await run(['find', 'a.txt'], { env });
  expect(winter.stdout).toMatch(/2026-01-02 04:04:05 .*\nfound 1 entry; searched 2 snapshots; times are in UTC\+1\n$/);
  await run(['backup', 'source', '--time', '2026-07-02T03:04:05Z']);
  const both = await run(['find', 'b.txt'], { env });
  expect(both.stdout).toMatch(/; times are in UTC\+1\/\+2\n$/);
  expect((await run(['find', 'none'], { env })).stdout).not.toContain('UTC');
});

it('find -l says the zone of the times of files too', async () => {
  const { run, source } = await makeTwo();
  utimesSync(join(source, 'sub', 'b.txt'), 1_780_000_000, 1_780_000_000);
  await run(['backup', 'source', '--time', '2026-01-04T03:04:05Z']);
  const env = { TZ: 'Europe/Berlin' };
  const args = ['find', '-s', 'latest', 'b.txt'];
  expect((await run(args, { env })).stdout).toMatch(/; times are in UTC\+1\n$/);
  expect((await run([...args, '-l'], { env })).stdout).toMatch(/; times are in UTC\+1\/\+2\n$/);
});

it('find --json gives the elements of the array that restic prints', async () => {
  const { runJson, source, ids } = await makeTwo();
  const { messages } = await runJson(['find', 'b.txt']);
  expect(messages).toMatchObject([
    { message_type: 'matches', hits: 1, snapshot: ids[0], matches: [{ path: `${source}/sub/b.txt`, size: 4 }] },
    {
      message_type: 'matches',
      hits: 1,
      snapshot: ids[1],
      matches: [{ type: 'file', permissions: expect.stringMatching(/^-rw-/) as string, size: 7 }],
    },
    { message_type: 'summary', snapshots: 2, hits: 2, unreadable_trees: 0 },
  ]);
});

it('history prints a line for each version', async () => {
  const { run, runJson, source, ids } = await makeTwo();
  const { code, stdout } = await run(['history', 'source/sub/b.txt'], { env: { TZ: 'UTC' } });
  expect(code).toBe(0);
  const lines = stdout.split('\n');
  expect(lines[1]).toMatch(new RegExp(`^\\+  ${ids[0]!.slice(0, 8)}  2026-01-02 03:04:05   4 B  \\S+ \\S+ +1$`));
  expect(lines[2]).toMatch(new RegExp(`^M  ${ids[1]!.slice(0, 8)}  2026-01-03 03:04:05   7 B  \\S+ \\S+ +1$`));
  const { messages } = await runJson(['history', 'source/a.txt']);
  expect(messages).toMatchObject([
    { message_type: 'version', snapshot: ids[0], modifier: '+', path: `${source}/a.txt`, size: 5, snapshot_count: 1 },
    { message_type: 'version', snapshot: ids[1], modifier: '-', path: `${source}/a.txt` },
    { message_type: 'summary', versions: 2, snapshots: 2 },
  ]);
  expect((await run(['history', 'source/a.txt'])).stdout).toContain('\n1 version and 1 deletion in 2 snapshots\n');
  const absent = await run(['history', '/nowhere']);
  expect(absent).toMatchObject({ code: 1, stdout: '' });
  expect(absent.stderr).toContain('no snapshot contains /nowhere');
});

it('both name directories that cannot be searched, go on with the others, and end with 1', async () => {
  const { run, repository, source } = await makeTwo();
  const packs = readdirSync(join(repository, 'packs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('/'))
    .map((name) => join(repository, 'packs', name));
  const [treePack] = packs.filter((pack) => kindOfPack(readFileSync(pack), undefined) === 'tree');
  writeFileSync(treePack!, readFileSync(treePack!).fill(0x55, 30, 120));
  const found = await run(['find', 'b.txt']);
  expect(found.code).toBe(1);
  expect(found.stderr).toMatch(/^ldm: warning: .* in snapshot [0-9a-f]{8} cannot be read: .*$/m);
  expect(found.stdout).toContain(`${source}/sub/b.txt`);
  expect(found.stdout).toContain('found 1 entry; searched 2 snapshots');
  const history = await run(['history', `${source}/sub/b.txt`]);
  expect(history.code).toBe(1);
  expect(history.stdout).toContain('1 version in 2 snapshots');
});

it('find, history and ls print a time beyond the range of dates as seconds', async () => {
  const { source, run } = await makeScenario();
  const path = join(source, 'a.txt');
  nativeCalls()!.lutimens(byteStringFromText(path), undefined, { seconds: 9e12, nanoseconds: 0 });
  // Not every file system has such times.
  const { mtimeSeconds } = statx(STATX_CURRENT_DIRECTORY, byteStringFromText(path), STATX_NO_FOLLOW)!;
  expect(mtimeSeconds).toBe(9e12);
  expect((await run(['backup', source])).code).toBe(0);
  for (const args of [
    ['ls', '-l', 'latest'],
    ['find', '-l', 'a.txt'],
    ['history', 'source/a.txt'],
  ]) {
    const { code, stdout, stderr } = await run(args);
    expect([code, stderr], args.join(' ')).toEqual([0, '']);
    expect(stdout).toContain('@9000000000000');
  }
});

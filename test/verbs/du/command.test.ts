import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

async function makeTwo(): Promise<Scenario> {
  const scenario = await makeScenario();
  const large = join(scenario.source, 'sub', 'large');
  writeFileSync(large, createPrng(1).bytes(100_000));
  await scenario.run(['backup', 'source']);
  rmSync(large);
  await scenario.run(['backup', 'source']);
  return scenario;
}

it('du prints a table of the directories of a snapshot', async () => {
  const { run, runJson, directory, source } = await makeTwo();
  const { code, stdout } = await run(['du', 'latest~1']);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^snapshot [0-9a-f]{8} of /);
  expect(lines[1]).toMatch(/^ *Apparent +Referenced +Only here +Path$/);
  expect(lines.slice(2).map((line) => line.split(/ +/).at(-1))).toEqual([directory, source, `${source}/sub`]);
  expect(lines[4]).toMatch(/^97\.7 KiB +9\d\.\d KiB +9\d\.\d KiB +\S+$/);
  const { messages } = await runJson(['du', '--depth', '0', 'latest:source/sub']);
  expect(messages).toEqual([
    {
      message_type: 'usage',
      snapshot_ids: [expect.stringMatching(/^[0-9a-f]{64}$/)],
      path: `${source}/sub`,
      apparent_bytes: 4,
      referenced_bytes: expect.any(Number),
      only_here_stored_bytes: expect.any(Number),
      only_here_bytes: expect.any(Number),
      only_here_chunks: 0,
      only_here_trees: 1,
    },
  ]);
});

it('du -s takes snapshots as one, and says what deleting them would free', async () => {
  const { run, runJson, source, directory } = await makeTwo();
  const { messages } = await runJson(['du', '-s', 'latest', 'latest~1']);
  const deleted = await runJson(['delete', '--dry-run', 'latest', 'latest~1']);
  expect(messages).toHaveLength(1);
  expect(messages[0]!['only_here_stored_bytes']).toBe(deleted.messages.at(-1)!['freed_stored_bytes']);
  const total = (await run(['-q', 'du', '-s'])).stdout.split('\n');
  expect(total).toHaveLength(3);
  expect(total[0]).toMatch(/^ *Apparent +Referenced +Only here +Path$/);
  mkdirSync(join(source, 'inner'));
  await run(['backup', 'source/inner']);
  const paths = (await runJson(['du', '-s', '--depth', '0'])).messages.map(({ path }) => path);
  expect(paths).toContain(directory);
  expect(paths).toEqual([...new Set(paths)]);
  expect((await run(['du', '--depth', '-1', 'latest'])).code).toBe(2);
  expect((await run(['du', 'latest:absent'])).code).toBe(1);
  const none = await run(['du', '-s', '--host', 'nohost']);
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toContain('no snapshot is of the host nohost (hosts: ');
});

it('have lists what is missing, and ends with 5 then', async () => {
  const { run, runJson, source, directory } = await makeTwo();
  expect(await run(['have', 'source'])).toMatchObject({
    code: 0,
    stdout: '2 files (9 B): all of them are in the repository\n',
  });
  writeFileSync(join(source, 'new'), 'new');
  expect(await run(['have', 'source'])).toMatchObject({
    code: 5,
    stdout: 'source/new\n3 files (12 B): 1 of them (3 B) is not in the repository\n',
  });
  expect((await run(['have', '--present', '-0', source])).stdout).toBe(`${source}/a.txt\0${source}/sub/b.txt\0`);
  expect((await run(['-q', 'have', 'source/a.txt'])).stdout).toBe('');
  const { messages } = await runJson(['have', join(directory, 'source', 'new')]);
  expect(messages).toEqual([
    { message_type: 'file', path: `${source}/new`, size: 3, present: false },
    { message_type: 'summary', files: 1, missing_files: 1, bytes: 3, missing_bytes: 3, unreadable: 0 },
  ]);
  const absent = await run(['have', 'source/a.txt', 'absent']);
  expect(absent.code).toBe(3);
  expect(absent.stderr).toContain('absent');
  expect(absent.stdout).toBe('1 file (5 B): it is in the repository; 1 path could not be read\n');
  expect((await run(['have', 'absent'])).stdout).toBe('0 files (0 B); 1 path could not be read\n');
});

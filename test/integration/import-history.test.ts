import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { TreeEntry } from '../support/compare-trees.ts';
import { describeTree } from '../support/compare-trees.ts';
import { initRestic } from '../support/restic.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { ldmProgram, cleanEnvironment } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', 'examples', 'import-history.sh');

const isInstalled = (program: string, flag: string): boolean => spawnSync(program, [flag]).status === 0;

interface Stage {
  readonly directory: string;
  readonly data: string;
  readonly environment: NodeJS.ProcessEnv;
  /** In this process; the script starts the program. */
  readonly ldm: (...args: readonly string[]) => Promise<string>;
}

/** A directory with sources, an empty repository, and `ldm` in the path. */
async function makeStage(added: (directory: string) => NodeJS.ProcessEnv): Promise<Stage> {
  const directory = realpathSync(memoryDirectory());
  mkdirSync(join(directory, 'bin'));
  writeFileSync(join(directory, 'bin', 'ldm'), `#!/bin/sh\nexec '${process.execPath}' '${ldmProgram}' "$@"\n`);
  chmodSync(join(directory, 'bin', 'ldm'), 0o755);
  const path = `${join(directory, 'bin')}:${process.env['PATH']}`;
  const own = { PATH: path, HOME: directory, LDM_REPOSITORY: join(directory, 'ldm'), TZ: 'Europe/Berlin' };
  const env = { ...own, ...(added(directory) as Record<string, string>) };
  const environment = cleanEnvironment(env);
  const ldm: Stage['ldm'] = async (...args) => {
    const { code, stdout, stderr } = await runLdmHere(args, { env, cwd: directory });
    expect(code, stderr).toBe(0);
    return stdout;
  };
  await ldm('init', '--no-encryption');
  const data = join(directory, 'home', 'me', 'data');
  mkdirSync(join(data, "it's"), { recursive: true });
  writeFileSync(join(data, 'file'), 'first');
  linkSync(join(data, 'file'), join(data, 'again'));
  symlinkSync('file', join(data, 'link'));
  writeFileSync(Buffer.concat([Buffer.from(`${data}/it's/`), Buffer.from([0xe9, 0xff])]), 'odd name');
  setWholeTimes(directory);
  return { directory, data, environment, ldm };
}

/** Runs the script, and returns its exit code and what it printed. */
function importHistory(
  { directory, environment: env }: Stage,
  ...words: readonly string[]
): { code: number | null; lines: string[] } {
  const { status, stdout } = spawnSync('sh', [SCRIPT, ...words], { env, cwd: directory, encoding: 'utf8' });
  return { code: status, lines: stdout.split('\n').slice(0, -1) };
}

/** The entries without hard links, which archives of restic do not have. */
function comparable(directory: string): Map<string, Partial<TreeEntry>> {
  const entries = [...describeTree(directory)].map(([path, text]) => {
    const { hardlinkGroup: _, ...entry } = JSON.parse(text) as TreeEntry;
    return [path, entry] as const;
  });
  return new Map(entries);
}

/** Gives everything a time of whole seconds: these archives have no fractions. */
function setWholeTimes(directory: string): void {
  execFileSync('find', [directory, '-exec', 'touch', '-h', '-d', '@1700000007', '{}', '+']);
}

async function expectImported(
  { ldm, directory }: Stage,
  expected: ReadonlyMap<string, unknown>,
  selector: string,
): Promise<void> {
  const target = join(directory, 'restored');
  await ldm('restore', selector, '--target', target);
  expect(comparable(join(target, 'data'))).toEqual(expected);
  rmSync(target, { recursive: true });
}

async function snapshotsOf({ ldm }: Stage): Promise<Record<string, unknown>[]> {
  const stdout = await ldm('snapshots', '--json');
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((each) => 'paths' in each);
}

it('the script imports the history of restic', async ({ skip }) => {
  skip(!isInstalled('restic', 'version') || !isInstalled('jq', '--version'), 'restic or jq is not installed');
  const stage = await makeStage((directory) => ({
    RESTIC_REPOSITORY: join(directory, 'restic'),
    RESTIC_PASSWORD: 'x',
  }));
  const { directory, data } = stage;
  const restic = initRestic(directory, { TZ: 'Europe/Berlin' });
  restic.run(['backup', '--host', "web's", '--tag', 'a b', '--tag', 'c', '--time', '2024-05-01 12:00:00', data]);
  const first = comparable(data);
  writeFileSync(join(data, 'file'), 'second');
  setWholeTimes(data);
  restic.run(['backup', '--host', 'tower', '--time', '2024-06-01 12:00:00', data, join(directory, 'bin')]);
  expect(importHistory(stage, 'restic')).toEqual({
    code: 0,
    lines: [expect.stringMatching(/^restic:/), expect.any(String)],
  });
  expect(await snapshotsOf(stage)).toMatchObject([
    {
      hostname: "web's",
      tags: [expect.stringMatching(/^restic:[\da-f]{8}$/), 'a b', 'c'],
      paths: [data],
      time: '2024-05-01T10:00:00.000Z',
    },
    {
      hostname: 'tower',
      tags: [expect.stringMatching(/^restic:/)],
      paths: [join(directory, 'bin'), data],
      time: '2024-06-01T10:00:00.000Z',
    },
  ]);
  await expectImported(stage, first, 'latest~1');
  const target = join(directory, 'second');
  await stage.ldm('restore', 'latest', '--target', target);
  expect(comparable(join(target, 'home', 'me', 'data'))).toEqual(comparable(data));
  await stage.ldm('check', '--read-data');
});

it('the script imports the history of borg', async ({ skip }) => {
  skip(!isInstalled('borg', '--version') || !isInstalled('jq', '--version'), 'borg or jq is not installed');
  const stage = await makeStage((directory) => ({
    BORG_REPO: join(directory, 'borg'),
    BORG_BASE_DIR: directory,
    BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK: 'yes',
  }));
  const { directory, data, environment } = stage;
  const borg = (...args: readonly string[]): void =>
    void execFileSync('borg', [...args], { env: environment, cwd: directory, stdio: 'pipe' });
  borg('init', '-e', 'none');
  borg('create', '--timestamp', '2024-05-01T12:00:00', "::it's-1", data);
  const first = comparable(data);
  writeFileSync(join(data, 'file'), 'second');
  setWholeTimes(data);
  borg('create', '--timestamp', '2024-06-01T12:00:00', '::two', data);
  expect(importHistory(stage, 'borg').code).toBe(0);
  expect(await snapshotsOf(stage)).toMatchObject([
    {
      tags: [expect.stringMatching(/^borg:[\da-f]{8}$/), "it's-1"],
      paths: [data],
      time: expect.stringMatching(/^2024-05-01T1/),
    },
    { tags: [expect.stringMatching(/^borg:/), 'two'], paths: [data] },
  ]);
  await expectImported(stage, first, 'latest~1');
  await expectImported(stage, comparable(data), 'latest');
  await stage.ldm('check', '--read-data');
});

it('the script goes on after an interruption, and imports no archive that is incomplete', async ({ skip }) => {
  skip(!isInstalled('restic', 'version') || !isInstalled('jq', '--version'), 'restic or jq is not installed');
  const stage = await makeStage((directory) => ({
    RESTIC_REPOSITORY: join(directory, 'restic'),
    RESTIC_PASSWORD: 'x',
  }));
  const { directory, data, environment } = stage;
  const restic = initRestic(directory, { TZ: 'Europe/Berlin' });
  for (const month of [5, 6, 7]) restic.run(['backup', '--time', `2024-0${month}-01 12:00:00`, data]);
  const real = execFileSync('sh', ['-c', 'command -v restic'], { env: environment, encoding: 'utf8' }).trim();
  const broken = join(directory, 'bin', 'restic');
  writeFileSync(
    broken,
    `#!/bin/sh\nif [ "$1" = dump ]; then '${real}' "$@" | head -c 1000; else exec '${real}' "$@"; fi\n`,
  );
  chmodSync(broken, 0o755);
  expect(importHistory(stage, 'restic')).toMatchObject({ code: 1, lines: [expect.any(String)] });
  expect(await snapshotsOf(stage)).toEqual([]);
  rmSync(broken);
  const { lines } = importHistory(stage, 'restic');
  await stage.ldm('delete', 'latest');
  expect(importHistory(stage, 'restic')).toEqual({
    code: 0,
    lines: [...lines.slice(0, 2).map((origin) => `${origin} was imported before`), lines[2]],
  });
  expect(await snapshotsOf(stage)).toHaveLength(3);
  const withoutPassword = { ...stage, environment: { ...environment, RESTIC_PASSWORD: 'wrong' } };
  const refused = importHistory(withoutPassword, 'restic');
  expect(refused.lines).toEqual([]);
  expect(refused.code).toBeGreaterThan(0);
  expect(importHistory(stage)).toEqual({ code: 2, lines: [] });
});

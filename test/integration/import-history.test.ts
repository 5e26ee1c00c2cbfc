import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { TreeEntry } from '../support/compare-trees.ts';
import { describeTree } from '../support/compare-trees.ts';
import { initRestic } from '../support/restic.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { ldmProgram, cleanEnvironment } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const DOCUMENT = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'switching.md'), 'utf8');

const isInstalled = (program: string, flag: string): boolean => spawnSync(program, [flag]).status === 0;

/** The commands that follow a line of the document. */
function documentedCommands(after: string): string {
  return /```sh\n([^]*?)```/.exec(DOCUMENT.slice(DOCUMENT.indexOf(after)))![1]!;
}

interface Stage {
  readonly directory: string;
  readonly data: string;
  readonly environment: NodeJS.ProcessEnv;
  /** In this process; the documented commands start the program. */
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
  const lines = stdout.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((each) => 'paths' in each);
}

it('the documented script imports the history of restic', async ({ skip }) => {
  skip(!isInstalled('restic', 'version') || !isInstalled('jq', '--version'), 'restic or jq is not installed');
  const stage = await makeStage((directory) => ({
    RESTIC_REPOSITORY: join(directory, 'restic'),
    RESTIC_PASSWORD: 'x',
  }));
  const { directory, data, environment } = stage;
  const restic = initRestic(directory, { TZ: 'Europe/Berlin' });
  restic.run(['backup', '--host', "web's", '--tag', 'a b', '--tag', 'c', '--time', '2024-05-01 12:00:00', data]);
  const first = comparable(data);
  writeFileSync(join(data, 'file'), 'second');
  setWholeTimes(data);
  restic.run(['backup', '--host', 'tower', '--time', '2024-06-01 12:00:00', data, join(directory, 'bin')]);
  execFileSync('sh', ['-e', '-c', documentedCommands('From restic')], {
    env: environment,
    cwd: directory,
    stdio: 'pipe',
  });
  expect(await snapshotsOf(stage)).toMatchObject([
    { hostname: "web's", tags: ['a b', 'c'], paths: [data], time: '2024-05-01T10:00:00.000Z' },
    { hostname: 'tower', tags: [], paths: [join(directory, 'bin'), data], time: '2024-06-01T10:00:00.000Z' },
  ]);
  await expectImported(stage, first, 'latest~1');
  const target = join(directory, 'second');
  await stage.ldm('restore', 'latest', '--target', target);
  expect(comparable(join(target, 'home', 'me', 'data'))).toEqual(comparable(data));
  await stage.ldm('check', '--read-data');
});

it('the documented script imports the history of borg', async ({ skip }) => {
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
  execFileSync('sh', ['-e', '-c', documentedCommands('From borg')], {
    env: environment,
    cwd: directory,
    stdio: 'pipe',
  });
  expect(await snapshotsOf(stage)).toMatchObject([
    { tags: ['borg', "it's-1"], paths: [data] },
    { tags: ['borg', 'two'], paths: [data] },
  ]);
  await expectImported(stage, first, 'latest~1');
  await expectImported(stage, comparable(data), 'latest');
  await stage.ldm('check', '--read-data');
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { makeRclone, rcloneProblem } from '../../support/rclone.ts';
import type { RcloneStage } from '../../support/rclone.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import { cuttingServer } from '../../support/sftp-server.ts';
import { inSoak } from '../../support/soak.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import type { Scenario } from '../../cli/scenario.ts';

const PLACE = 'rclone:disk:deep/repository';
/** Where rclone keeps a new repository, which takes twenty starts of rclone to create. */
let createdDirectory: string;
let creation: RunLdmResult;

beforeAll(async () => {
  createdDirectory = makeTemporaryDirectory();
  if (rcloneProblem !== undefined) return;
  const env = { RCLONE_CONFIG: makeRclone(createdDirectory).config };
  creation = await runLdmHere(['init', '--no-encryption', '--single-writer', '-r', PLACE], { env });
});
afterAll(() => rmSync(createdDirectory, { recursive: true, force: true }));
beforeEach(({ skip }) => skip(rcloneProblem !== undefined, rcloneProblem));

const quote = (words: readonly string[]): string => words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(' ');

/** A scenario whose repository is in a remote of rclone. */
async function makeRemote(
  place: string,
  commandFor: (stage: RcloneStage) => readonly string[] = () => ['rclone'],
): Promise<Scenario & { readonly stage: RcloneStage }> {
  const scenario = await makeScenario();
  const stage = makeRclone();
  const env = {
    LDM_REPOSITORY: place,
    LDM_RCLONE_COMMAND: quote(commandFor(stage)),
    RCLONE_CONFIG: stage.config,
    // Otherwise it would be remembered what another test has seen at this place, of a copy of the same repository.
    XDG_STATE_HOME: join(scenario.directory, 'state'),
  };
  return {
    ...scenario,
    stage,
    run: async (args, options = {}) => scenario.run(args, { ...options, env: { ...env, ...options.env } }),
    runBuilt: async (args, options = {}) => scenario.runBuilt(args, { ...options, env: { ...env, ...options.env } }),
  };
}

/** The same with a new repository. */
async function makeCreated(commandFor?: (stage: RcloneStage) => readonly string[]): ReturnType<typeof makeRemote> {
  const remote = await makeRemote(PLACE, commandFor);
  cpSync(join(createdDirectory, 'disk'), join(remote.stage.directory, 'disk'), { recursive: true });
  return remote;
}

/** An rclone that is killed when about so many bytes have passed, so many times. */
function killedRclone(
  bytes: number,
  cuts: number,
): { readonly commandFor: (stage: RcloneStage) => readonly string[]; readonly countCuts: () => number } {
  let countCuts = (): number => 0;
  return {
    commandFor: ({ command }) => {
      // The same arguments as those that ldm adds.
      const serve = ['serve', 'restic', '--stdio', '--cache-objects=false', '--', 'disk:deep/repository'];
      const server = cuttingServer(bytes, cuts, [...command, ...serve]);
      countCuts = server.countCuts;
      // A listing of the root is another command, which is not cut.
      return ['sh', '-c', `if [ "$1" = lsjson ]; then exec rclone "$@"; fi; exec ${quote(server.command)}`, 'rclone'];
    },
    countCuts: () => countCuts(),
  };
}

describe('a repository in a remote of rclone', () => {
  it('is used by every command', async () => {
    const { directory, run, runBuilt } = await makeCreated();
    const expectSuccess = async (...args: string[]): Promise<string> => {
      // A command that writes and one that reads: its process has to end.
      const isBuilt = ['backup', 'snapshots'].includes(args[0]!);
      const { code, stdout, stderr } = await (isBuilt ? runBuilt : run)(args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      return stdout;
    };
    const elsewhere = ['-r', 'rclone:disk:elsewhere'];
    expect(await run(['snapshots', ...elsewhere])).toMatchObject({ code: 10 });
    expect(await run(['init', '--no-encryption', ...elsewhere])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--single-writer'),
    });
    expect(creation).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(` at ${PLACE}, `) });
    await expectSuccess('backup', 'source');
    await expectSuccess('tag', 'latest', '--add', 'kept');
    expect(await expectSuccess('snapshots')).toContain('kept');
    await expectSuccess('check', '--read-data');
    await expectSuccess('restore', 'latest', '-t', 'out');
    expect(readFileSync(join(directory, 'out/source/sub/b.txt'), 'utf8')).toBe('beta');
    await expectSuccess('copy', '--to', 'repository');
    await expectSuccess('delete', 'latest');
    expect(await expectSuccess('compact')).toContain('packs       0 before');
    await expectSuccess('check');
    expect(await run(['init', '--no-encryption', '--single-writer'])).toMatchObject({ code: 1 });
  });

  it('can be a group of a repository for one client at a time', async () => {
    const { directory, source, stage, run } = await makeRemote('unused');
    const bytes = Buffer.from(createPrng(3).bytes(inSoak(2_000_000, 200_000)));
    writeFileSync(join(source, 'large'), bytes);
    const runIn = async (...args: string[]): Promise<RunLdmResult> => run([...args, '-r', join(directory, 'r')]);
    const init = async (group: string, ...options: string[]): Promise<RunLdmResult> =>
      runIn('init', '--no-encryption', '--group', `drive=rclone:disk:${group}`, ...options);
    expect(await init('refused')).toMatchObject({ code: 1, stderr: expect.stringMatching(/add --single-writer/) });
    expect(await init('group', '--single-writer')).toMatchObject({ code: 0, stderr: '' });
    const expectSuccess = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await runIn(...args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
    };
    await expectSuccess('backup', 'source');
    await expectSuccess('group', 'add', 'second', `rclone:${inSoak('secret', 'disk')}:second`);
    await expectSuccess('group', 'drain', 'drive');
    await expectSuccess('group', 'remove', 'drive');
    expect(readdirSync(join(stage.directory, 'disk/group'), { recursive: true }).toString()).not.toMatch(
      /[0-9a-f]{64}/,
    );
    await expectSuccess('check', '--read-data');
    await expectSuccess('restore', 'latest', '-t', 'out');
    expect(readFileSync(join(directory, 'out/source/large')).equals(bytes)).toBe(true);
    await expectSuccess('delete', 'latest');
    const shared = join(directory, 'shared');
    const local = ['init', '--no-encryption', '-r', shared, '--group', `disk=${join(directory, 'disk')}`];
    expect(await run(local)).toMatchObject({ code: 0 });
    const added = await run(['group', 'add', 'drive', 'rclone:disk:other', '-r', shared]);
    expect([added.code, added.stderr]).toEqual([1, expect.stringMatching(/Only a repository that was created with/)]);
  });

  it('outlives an rclone that is killed again and again', async () => {
    const killed = killedRclone(inSoak(3_000_000, 600_000), 3);
    const { directory, source, run } = await makeCreated(killed.commandFor);
    const bytes = createPrng(7).bytes(inSoak(5_000_000, 1_000_000));
    for (const [command, ...args] of [
      ['backup', 'source'],
      ['backup', 'source'],
      ['delete', 'latest'],
    ]) {
      if (command === 'backup') writeFileSync(join(source, 'large'), bytes.reverse());
      expect(await run([command!, ...args]), command).toMatchObject({ code: 0, stderr: '' });
    }
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0 });
    expect(await run(['restore', 'latest', '-t', 'out'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(directory, 'out/source/large')).equals(bytes.reverse())).toBe(true);
    expect(killed.countCuts()).toBe(3);
  });

  it('is created by an rclone that is killed again and again', async () => {
    const killed = killedRclone(4000, 2);
    const { run } = await makeRemote(PLACE, killed.commandFor);
    const made = await run(['init', '--no-encryption', '--single-writer']);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(` at ${PLACE}, `) });
    expect(killed.countCuts()).toBe(2);
    expect(await run(['check'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('can be used again when a kill has left a part of a file anywhere', async () => {
    const { directory, stage, run } = await makeCreated();
    await run(['backup', 'source']);
    const [kept] = readdirSync(join(stage.directory, 'disk/deep/repository/snapshots'));
    // As of a backup that ends while it writes: the beginning of each kind of file, under a new name.
    for (const kind of ['index', 'manifests.bak', 'filter', 'packs', 'snapshots']) {
      const names = readdirSync(join(stage.directory, 'disk/deep/repository', kind), {
        recursive: true,
        encoding: 'utf8',
      });
      const name = names.toSorted((a, b) => b.length - a.length)[0];
      if (name === undefined) continue;
      const path = join(stage.directory, 'disk/deep/repository', kind, name);
      const other = path.slice(0, -1) + (path.endsWith('0') ? '1' : '0');
      writeFileSync(other, readFileSync(path).subarray(0, 40));
    }
    expect(await run(['restore', kept!, '-t', 'out'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(directory, 'out/source/sub/b.txt'), 'utf8')).toBe('beta');
    expect(await run(['check'])).toMatchObject({ code: 4 });
    // It says that a snapshot cannot be read, which no backup has reported as saved.
    expect(await run(['repair'])).toMatchObject({ code: 4 });
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['backup', 'source'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('is released when Ctrl+C reaches the whole group of processes during a backup', async () => {
    const { directory, source, stage } = await makeCreated();
    writeFileSync(join(source, 'large'), createPrng(3).bytes(8_000_000));
    const env = cleanEnvironment({
      HOME: directory,
      LDM_REPOSITORY: PLACE,
      RCLONE_CONFIG: stage.config,
    });
    // Slow enough that it never ends.
    const args = [ldmProgram, 'backup', 'source', '--limit-upload', '100KiB'];
    const backup = spawn(process.execPath, args, { cwd: directory, env, detached: true, stdio: 'ignore' });
    const ended = once(backup, 'exit');
    onTestFinished(() => void backup.kill('SIGKILL'));
    const locks = join(stage.directory, 'disk/deep/repository/locks');
    await waitUntil(() => readdirSync(locks).length > 0, 'a lock');
    process.kill(-backup.pid!, 'SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(locks)).toEqual([]);
  });

  it('that does not exist is an error with the words of rclone, and one of usage changes nothing', async () => {
    const { run } = await makeRemote('rclone:disk:r');
    expect(await run(['-r', 'rclone:other:x', 'snapshots'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`didn't find section in config file`),
    });
    expect(await run(['-r', 'rclone:other', 'snapshots'])).toMatchObject({ code: 2 });
    const missing = await run(['--rclone-command', '/nonexistent/rclone', 'snapshots']);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('was not found') });
  });
});

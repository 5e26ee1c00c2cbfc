import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { createPrng } from '../support/prng.ts';
import { makeRclone, rcloneProblem } from '../support/rclone.ts';
import type { RcloneStage } from '../support/rclone.ts';
import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { cuttingServer } from '../support/sftp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makeScenario } from './scenario.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import type { Scenario } from './scenario.ts';

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
  };
  return {
    ...scenario,
    stage,
    run: async (args, options = {}) => scenario.run(args, { ...options, env: { ...env, ...options.env } }),
    runBuilt: async (args, options = {}) => scenario.runBuilt(args, { ...options, env: { ...env, ...options.env } }),
  };
}

describe('a repository in a remote of rclone', () => {
  it('is used by every command', async () => {
    const place = 'rclone:disk:deep/repository';
    const { directory, runBuilt } = await makeRemote(place);
    const expectSuccess = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runBuilt(args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      return stdout;
    };
    expect(await runBuilt(['snapshots'])).toMatchObject({ code: 10 });
    expect(await runBuilt(['init', '--no-encryption'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--single-writer'),
    });
    expect(await expectSuccess('init', '--no-encryption', '--single-writer')).toContain(` at ${place}, `);
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
    expect(await runBuilt(['init', '--no-encryption', '--single-writer'])).toMatchObject({ code: 1 });
  });

  it('can be a group of a repository for one client at a time', async () => {
    const { directory, source, stage, run } = await makeRemote('unused');
    const bytes = Buffer.from(createPrng(3).bytes(2_000_000));
    writeFileSync(join(source, 'large'), bytes);
    const runIn = async (...args: string[]): Promise<RunLdmResult> => run([...args, '-r', join(directory, 'r')]);
    const init = ['init', '--no-encryption', '--group', 'drive=rclone:disk:group'];
    expect(await runIn(...init)).toMatchObject({ code: 1, stderr: expect.stringMatching(/add --single-writer/) });
    expect(await runIn(...init, '--single-writer')).toMatchObject({ code: 0, stderr: '' });
    const expectSuccess = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await runIn(...args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
    };
    await expectSuccess('backup', 'source');
    await expectSuccess('group', 'add', 'secret', 'rclone:secret:group');
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
    let countCuts = (): number => 0;
    const { directory, source, run } = await makeRemote('rclone:disk:repository', ({ command }) => {
      // The same arguments as those that ldm adds.
      const serve = ['serve', 'restic', '--stdio', '--cache-objects=false', '--', 'disk:repository'];
      const server = cuttingServer(3_000_000, 3, [...command, ...serve]);
      countCuts = server.countCuts;
      // A listing of the root is another command, which is not cut.
      return ['sh', '-c', `if [ "$1" = lsjson ]; then exec rclone "$@"; fi; exec ${quote(server.command)}`, 'rclone'];
    });
    const bytes = createPrng(7).bytes(5_000_000);
    for (const [command, ...args] of [
      ['init', '--no-encryption', '--single-writer'],
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
    expect(countCuts()).toBe(3);
  });

  it('can be used again when a kill has left a part of a file anywhere', async () => {
    const { directory, stage, run } = await makeRemote('rclone:disk:r');
    await run(['init', '--no-encryption', '--single-writer']);
    await run(['backup', 'source']);
    const [kept] = readdirSync(join(stage.directory, 'disk/r/snapshots'));
    // As of a backup that ends while it writes: the beginning of each kind of file, under a new name.
    for (const kind of ['index', 'manifests.bak', 'filter', 'packs', 'snapshots']) {
      const names = readdirSync(join(stage.directory, 'disk/r', kind), { recursive: true, encoding: 'utf8' });
      const name = names.toSorted((a, b) => b.length - a.length)[0];
      if (name === undefined) continue;
      const path = join(stage.directory, 'disk/r', kind, name);
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
    const { directory, source, stage, run } = await makeRemote('rclone:disk:r');
    await run(['init', '--no-encryption', '--single-writer']);
    writeFileSync(join(source, 'large'), createPrng(3).bytes(30_000_000));
    const env = cleanEnvironment({ HOME: directory, LDM_REPOSITORY: 'rclone:disk:r', RCLONE_CONFIG: stage.config });
    // Slow enough that it never ends.
    const args = [ldmProgram, 'backup', 'source', '--limit-upload', '100KiB'];
    const backup = spawn(process.execPath, args, { cwd: directory, env, detached: true, stdio: 'ignore' });
    const ended = once(backup, 'exit');
    onTestFinished(() => void backup.kill('SIGKILL'));
    const locks = join(stage.directory, 'disk/r/locks');
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

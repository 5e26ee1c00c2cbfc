import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import {
  cuttingServer,
  openSshServer,
  plainServer,
  serverWithoutExtensions,
  sftpProblem,
} from '../../support/sftp-server.ts';
import { inSoak } from '../../support/soak.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

/** A scenario whose repository is behind a server. */
async function makeRemote(command: readonly string[]): Promise<Scenario> {
  const scenario = await makeScenario();
  const env = {
    LDM_REPOSITORY: `sftp:test:${scenario.directory}/remote`,
    LDM_SSH_COMMAND: command.map((word) => `'${word}'`).join(' '),
  };
  return {
    ...scenario,
    run: async (args, options = {}) => scenario.run(args, { ...options, env: { ...env, ...options.env } }),
    runBuilt: async (args, options = {}) => scenario.runBuilt(args, { ...options, env: { ...env, ...options.env } }),
  };
}

describe('a repository on an SFTP server', () => {
  it.each([
    // Some by the built program, which has to contain what speaks the protocol.
    ['of OpenSSH', openSshServer, ['backup', 'tag', 'cat']],
    ['without extensions', plainServer, []],
  ])('%s is used by every command like a directory', async (_name, server, built) => {
    const { directory, ...remote } = await makeRemote(server());
    const expectSuccess = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await (built.includes(args[0]!) ? remote.runBuilt : remote.run)(args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      return stdout;
    };
    expect(await expectSuccess('init', '--no-encryption')).toContain(` at sftp:test:${directory}/remote, `);
    await expectSuccess('backup', 'source');
    await expectSuccess('tag', 'latest', '--add', 'kept');
    expect(await expectSuccess('snapshots')).toContain('kept');
    await expectSuccess('check', '--read-data');
    await expectSuccess('restore', 'latest', '-t', 'out');
    expect(readFileSync(join(directory, 'out/source/sub/b.txt'), 'utf8')).toBe('beta');
    expect(await expectSuccess('cat', 'latest:source/a.txt')).toBe('alpha');
    await expectSuccess('copy', '--to', 'repository');
    await expectSuccess('delete', 'latest');
    expect(await expectSuccess('compact')).toContain('packs       0 before');
  });

  it('may be sound although a check finds it damaged, which says so', async () => {
    const { directory, run } = await makeRemote(serverWithoutExtensions());
    for (const args of [
      ['init', '--no-encryption'],
      ['backup', 'source'],
    ])
      expect(await run(args)).toMatchObject({ code: 0 });
    const packs = join(directory, 'remote/packs');
    const [name] = readdirSync(packs, { recursive: true, encoding: 'utf8' }).filter((each) => each.length > 64);
    const bytes = readFileSync(join(packs, name!));
    bytes[20]! ^= 1;
    writeFileSync(join(packs, name!), bytes);
    const doubt = 'gave the same wrong bytes twice. If a cache, a proxy or the server itself';
    for (const args of [['--read-data'], ['--no-key']]) {
      const remote = await run(['check', ...args]);
      expect(remote).toMatchObject({ code: 4, stdout: expect.stringContaining(doubt) });
      const local = await run(['check', ...args, '-r', 'remote']);
      expect(local).toMatchObject({ code: 4, stdout: expect.not.stringContaining(doubt) });
    }
  });

  it('outlives a server that is killed again and again', async () => {
    const { command: server, countCuts } = cuttingServer(inSoak(3_000_000, 600_000), 3);
    const { directory, source, run } = await makeRemote(server);
    const bytes = createPrng(7).bytes(inSoak(5_000_000, 1_000_000));
    for (const [command, ...args] of [
      ['init', '--no-encryption'],
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

  it('has a cache that can be shown, removed and left out', async () => {
    const { directory, run } = await makeRemote(serverWithoutExtensions());
    const env = { XDG_CACHE_HOME: join(directory, 'cache') };
    const runWell = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(args, { env });
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      return stdout;
    };
    await runWell('init', '--no-encryption', '--no-cache');
    await runWell('backup', 'source', '--no-cache');
    mkdirSync(join(directory, 'ldm'));
    writeFileSync(join(directory, 'ldm/config.toml'), '[profiles.without]\nno-cache = true\n');
    const withoutCache = { XDG_CONFIG_HOME: directory, LDM_PROFILE: 'without', ...env };
    expect(await run(['backup', 'source'], { env: withoutCache })).toMatchObject({ code: 0 });
    expect(await runWell('cache')).toBe('0 caches, 0 B\n');
    await runWell('snapshots');
    expect(JSON.parse(await runWell('cache', '--json'))).toMatchObject({
      message_type: 'cache',
      files: 2,
      removed: false,
    });
    expect(await runWell('cache', '--clean')).toContain('removed 1 cache, ');
    expect(await runWell('cache')).toBe('0 caches, 0 B\n');
    writeFileSync(join(directory, 'file'), '');
    const unusable = await run(['backup', 'source'], { env: { XDG_CACHE_HOME: join(directory, 'file') } });
    expect(unusable).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^ldm: warning: the cache in .* is not used: .*\n$/),
    });
  });

  it('is told about in numbers, and its line can be left to others', async () => {
    const { source, run } = await makeRemote(serverWithoutExtensions());
    writeFileSync(join(source, 'large'), createPrng(8).bytes(inSoak(500_000, 250_000)));
    const runWell = async (...args: string[]): Promise<Record<string, number>> => {
      const { stdout } = await run([...args, '--json']);
      return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Record<string, number>;
    };
    await runWell('init', '--no-encryption');
    const sent = await runWell('backup', 'source', '--limit-upload', inSoak('400K', '200K'), '--connections', '1');
    expect(sent['bytes_uploaded']).toBeGreaterThan(inSoak(500_000, 250_000));
    expect(sent['total_duration']).toBeGreaterThan(0.9);
    const received = await runWell('restore', 'latest', '-t', 'out', '--limit-download', inSoak('400K', '200K'));
    expect(received['bytes_downloaded']).toBeGreaterThan(inSoak(500_000, 250_000));
    expect(received['total_duration']).toBeGreaterThan(0.9);
    expect(received['requests']).toBeGreaterThan(5);
    expect(await run(['backup', 'source', '--connections', '33'])).toMatchObject({ code: 2 });
    expect(await run(['snapshots'], { env: { LDM_LIMIT_UPLOAD: '0' } })).toMatchObject({ code: 2 });
  });

  it('that cannot be reached is an error that says why', async () => {
    const { run } = await makeRemote(serverWithoutExtensions());
    const env = { LDM_SSH_COMMAND: `sh -c 'echo Permission denied >&2; exit 255'` };
    expect(await run(['snapshots'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('remote: cannot connect to it: Permission denied\nConnect with `sftp` '),
    });
    expect(await run(['snapshots', '-r', 'sftp:test:/absent/place'])).toMatchObject({ code: 10 });
  });
});

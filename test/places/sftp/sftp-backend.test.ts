import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { testBackendContract } from '../../contracts/backend-contract.ts';
import { expectErrno, writeFile } from '../../support/backend-actions.ts';
import {
  loggingServer,
  plainServer,
  serverWithoutExtensions,
  sftpBackend,
  sftpProblem,
} from '../../support/sftp-server.ts';
import { inSoak } from '../../support/soak.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { mountTmpfs } from '../../support/tmpfs.ts';

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

testBackendContract('SftpBackend', () => sftpBackend(join(temporaryDirectory(), 'repository')));
testBackendContract('SftpBackend on a server without extensions', () =>
  sftpBackend(join(temporaryDirectory(), 'repository'), inSoak(plainServer, serverWithoutExtensions)()),
);

describe('a repository on an SFTP server', () => {
  test('is private', async () => {
    const directory = temporaryDirectory();
    const backend = sftpBackend(join(directory, 'deep/repository'));
    await backend.prepare(['', 'packs', 'tmp']);
    await backend.publish('packs/a', Buffer.from('x'));
    const modes = ['deep', 'deep/repository/packs', 'deep/repository/packs/a'].map(
      (name) => statSync(join(directory, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o600]);
  });

  test('is in directories whose names are durable', async () => {
    const directory = temporaryDirectory();
    const log = join(directory, 'log');
    const backend = sftpBackend(join(directory, 'new/deep/repository'), loggingServer(log));
    await backend.prepare(['', 'packs']);
    const synced = readFileSync(log, 'utf8').matchAll(/^fsync "(.*)"\r?$/gm);
    const expected = ['', '/new', '/new/deep', '/new/deep/repository'].map((name) => directory + name);
    expect([...synced].map(([, path]) => path)).toEqual(expect.arrayContaining(expected));
  });

  test('says so when the disk of the server is full, whatever it was about to write', async ({ skip }) => {
    const directory = temporaryDirectory();
    skip(!mountTmpfs(directory, 2 ** 24), 'no tmpfs can be mounted here, not even by root');
    const backend = sftpBackend(join(directory, 'repository'));
    await backend.prepare(['', 'packs', 'tmp']);
    const writer = await backend.create('packs/a');
    const { files, ffree } = statfsSync(directory);
    expect(spawnSync('mount', ['-o', `remount,nr_inodes=${files - ffree}`, directory]).status).toBe(0);
    await expectErrno(backend.create('packs/b'), 'ENOSPC');
    await expectErrno(backend.makeDirectory('more'), 'ENOSPC');
    await expectErrno(sftpBackend(join(directory, 'other/repository')).makeDirectory(''), 'ENOSPC');
    await expectErrno(writer.append(Buffer.alloc(2 ** 25)), 'ENOSPC');
  });

  test.skipIf(process.platform !== 'linux')('may be on a file system that cannot sync directories', async () => {
    await sftpBackend('/proc').syncDirectory('');
  });

  test('cannot be below a file', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    await expectErrno(sftpBackend(join(directory, 'file/repository')).makeDirectory(''), 'ENOTDIR');
    await expectErrno(sftpBackend(join(directory, 'file')).makeDirectory(''), 'ENOTDIR');
  });

  test('can be asked what is there', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    mkdirSync(join(directory, 'full/inner'), { recursive: true });
    symlinkSync('full', join(directory, 'link'));
    const examine = async (name: string): Promise<unknown> => sftpBackend(join(directory, name)).examine();
    expect(await examine('absent')).toMatchObject({ missing: `sftp:test:${directory}/absent`, names: [] });
    expect(await examine('file')).toMatchObject({ file: `sftp:test:${directory}/file` });
    expect(await examine('full')).toEqual({ missing: undefined, file: undefined, names: ['inner'] });
    expect(await examine('link')).toEqual({ missing: undefined, file: undefined, names: ['inner'] });
  });

  test('of two that create a name, one succeeds', async () => {
    const directory = temporaryDirectory();
    const [one, other] = [sftpBackend(directory), sftpBackend(directory)];
    await one.prepare(['', 'tmp', 'locks']);
    await expectErrno(Promise.all([one.claim('locks/a'), other.claim('locks/a')]), 'EEXIST');
    const staged = await Promise.all([one.stage(), other.stage()]);
    for (const [index, file] of staged.entries()) await file.append(Buffer.from(String(index)));
    await staged[1].publish('config', undefined, true);
    await expectErrno(staged[0].publish('config', undefined, true), 'EEXIST');
    expect(Buffer.from(await one.read('config')).toString()).toBe('1');
    expect(readdirSync(join(directory, 'tmp'))).toEqual([]);
  });

  test('keeps a file open while pieces of it are read, whatever else is read', async () => {
    const backend = sftpBackend(temporaryDirectory(), plainServer());
    const bytes = Buffer.alloc(6_000_001, 'large ');
    await writeFile(backend, 'large', bytes);
    const names = Array.from({ length: 64 }, (_, index) => `${index}`);
    for (const name of names) await writeFile(backend, name, Buffer.from(name));
    const target = Buffer.alloc(bytes.length);
    await Promise.all([
      backend.readRange('large', 0, target),
      ...names.map(async (name) => backend.readRange(name, 0, Buffer.alloc(1))),
    ]);
    expect(target.equals(bytes)).toBe(true);
  });

  test('sizes of many files come from listings', async () => {
    const directory = temporaryDirectory();
    const backend = sftpBackend(directory);
    for (const name of ['packs', 'index']) mkdirSync(join(directory, name));
    const names = Array.from({ length: 200 }, (_, index) => `${index % 2 === 0 ? 'packs' : 'index'}/${index}`);
    for (const name of names) writeFileSync(join(directory, name), name);
    const sizes = await backend.sizesOf([...names, 'packs/none']);
    expect(sizes.size).toBe(200);
    for (const name of names) expect(sizes.get(name)).toBe(name.length);
  });
});

describe('a connection', () => {
  test('does not get the password of the repository', async () => {
    process.env['LDM_PASSWORD'] = 'secret';
    onTestFinished(() => void delete process.env['LDM_PASSWORD']);
    await expect(
      sftpBackend('/y', ['sh', '-c', 'echo "password: $LDM_PASSWORD." >&2; exit 1']).list(''),
    ).rejects.toThrow(/cannot connect to it: password: \.$/);
  });

  test('that cannot be made is an error at once, with what the program says', async () => {
    const command = ['sh', '-c', 'echo "host key verification failed" >&2; exit 255'];
    const backend = new SftpBackend({ location: 'sftp:x:/y', command, path: '/y' }, { retryForMs: 60_000 });
    onTestFinished(async () => backend.close());
    const error = await backend.list('').catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      kind: 'other',
      message: 'repository sftp:x:/y: cannot connect to it: host key verification failed',
    });
  });

  test('to a program that does not exist, or that speaks something else, is an error', async () => {
    await expect(sftpBackend('/y', ['/absent/ssh']).list('')).rejects.toThrow('ENOENT');
    await expect(sftpBackend('/y', ['sh', '-c', 'echo Welcome to this server']).list('')).rejects.toThrow(
      'does not speak SFTP',
    );
  });
});

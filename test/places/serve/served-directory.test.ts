import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { testBackendContract } from '../../contracts/backend-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { serveCommandsHere } from '../../support/serve-here.ts';
import { FLAGS, RawClient, serveCommand } from '../../support/serve-client.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

// The program itself serves in lost-connections.test.ts and in test/verbs/serve/command.test.ts.
beforeEach(() => serveCommandsHere());

function servedBackend(...options: readonly string[]): SftpBackend {
  const command = serveCommand(temporaryDirectory(), ...options);
  const backend = new SftpBackend({ location: 'sftp:test:/', command, path: '/repository' }, { retryForMs: 0 });
  onTestFinished(async () => backend.close());
  return backend;
}

testBackendContract('A served directory', () => servedBackend('--quota', '1GiB'));

const NOT_FOUND = { status: 2 };
const DENIED = { status: 3 };

describe('paths of a client', () => {
  async function makeStage(): Promise<RawClient> {
    const outer = temporaryDirectory();
    const served = join(outer, 'served');
    mkdirSync(join(served, 'inner'), { recursive: true });
    writeFileSync(join(outer, 'secret'), 'secret');
    writeFileSync(join(served, 'inner/file'), 'content');
    symlinkSync('../secret', join(served, 'out'));
    symlinkSync('inner', join(served, 'alias'));
    symlinkSync('..', join(served, 'inner/up'));
    symlinkSync('/absent', join(served, 'dangling'));
    return await RawClient.connect(served);
  }

  test('begin at the directory, however they are written', async () => {
    const client = await makeStage();
    for (const path of [
      'inner/file',
      '/inner/file',
      './inner/file',
      '/./inner//file',
      '../../inner/file',
      'inner/../inner/file',
    ]) {
      expect(await client.read(path), path).toBe('content');
    }
    for (const path of ['', '.', '/', '/..', '../..']) expect(await client.realpath(path), path).toBe('/');
    expect(await client.realpath('inner/./x/../y/')).toBe('/inner/y');
    expect(await client.list('.')).toEqual(['alias', 'dangling', 'inner', 'out']);
  });

  test('never lead out of it', async () => {
    const client = await makeStage();
    await expect(client.read('../secret')).rejects.toMatchObject(NOT_FOUND);
    await expect(client.read('/etc/passwd')).rejects.toMatchObject(NOT_FOUND);
    await expect(client.read('in\0ner')).rejects.toMatchObject(NOT_FOUND);
    for (const path of ['out', 'alias/file', 'inner/up/inner/file', 'inner/up/secret']) {
      await expect(client.read(path), path).rejects.toMatchObject(DENIED);
    }
    for (const path of ['out', 'dangling', 'alias/new', 'inner/up/new']) {
      await expect(client.put(path, 'x'), path).rejects.toMatchObject(DENIED);
      await expect(client.rename('inner/file', path), path).rejects.toMatchObject(DENIED);
      await expect(client.replace('inner/file', path), path).rejects.toMatchObject(DENIED);
      await expect(client.set(path, { atime: 1, mtime: 1 }), path).rejects.toMatchObject(DENIED);
      await expect(client.remove(path), path).rejects.toMatchObject(DENIED);
    }
    await expect(client.makeDirectory('alias/new')).rejects.toMatchObject(DENIED);
    await expect(client.list('alias')).rejects.toMatchObject(DENIED);
    await expect(client.symlink('/etc', 'new')).rejects.toMatchObject({ status: 8 });
    await expect(client.removeDirectory('inner')).rejects.toMatchObject({ status: 8 });
    expect(await client.read('inner/file')).toBe('content');
  });

  test('do not open what is no file', async () => {
    const directory = temporaryDirectory();
    expect(spawnSync('mkfifo', [join(directory, 'fifo')]).status).toBe(0);
    const client = await RawClient.connect(directory);
    for (const flags of [FLAGS.READ, FLAGS.WRITE, FLAGS.READ | FLAGS.WRITE | FLAGS.CREAT]) {
      await expect(client.open('fifo', flags)).rejects.toMatchObject({ status: 4 });
    }
    await expect(client.remove('fifo')).rejects.toMatchObject({ status: 4 });
  });

  test('are private, whatever the client asks for', async () => {
    const directory = temporaryDirectory();
    const client = await RawClient.connect(directory);
    await client.makeDirectory('made');
    await client.put('made/file', 'x');
    expect(['made', 'made/file'].map((name) => statSync(join(directory, name)).mode & 0o777)).toEqual([0o700, 0o600]);
    await expect(client.set('made/file', { mode: 0o777 })).rejects.toMatchObject({ status: 8 });
  });
});

describe('a quota', () => {
  const STEP = 100_000;

  /** Writes until the server refuses; returns how many bytes it took. */
  async function fill(client: RawClient, name: string): Promise<number> {
    const handle = await client.open(name, FLAGS.WRITE | FLAGS.CREAT);
    for (let sizeBytes = 0; ; sizeBytes += STEP) {
      const refused = await client.write(handle, sizeBytes, 'x'.repeat(STEP)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refused === undefined) continue;
      expect(refused).toMatchObject({ status: 4, message: expect.stringContaining('quota') });
      await client.close(handle);
      return sizeBytes;
    }
  }

  test('counts what is there, in whole blocks, and what is removed comes back', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'packs'));
    for (let count = 0; count < 100; count += 1) writeFileSync(join(directory, 'packs', String(count)), 'x');
    const client = await RawClient.connect(directory, '--quota', '1MiB');
    const takenBytes = await fill(client, 'one');
    expect(takenBytes).toBeGreaterThan(1024 * 1024 - 100 * 4096 - 2 * STEP);
    expect(takenBytes).toBeLessThanOrEqual(1024 * 1024 - 100 * 4096);
    expect(statSync(join(directory, 'one')).size).toBe(takenBytes);
    await client.remove('one');
    expect(await fill(client, 'other')).toBe(takenBytes);
    await client.put('empty', '');
    await client.replace('empty', 'other');
    expect(await fill(client, 'again')).toBe(takenBytes);
  });

  test('holds for holes, for removed files that are open, and for truncated ones', async () => {
    const directory = temporaryDirectory();
    const client = await RawClient.connect(directory, '--quota', '1MiB');
    const handle = await client.open('file', FLAGS.WRITE | FLAGS.CREAT);
    for (const offset of [2 ** 20, 2 ** 40, 2 ** 53, Number.MAX_SAFE_INTEGER]) {
      await expect(client.write(handle, offset, 'x'), String(offset)).rejects.toThrow();
    }
    await client.write(handle, 1_000_000, 'x');
    await client.write(handle, 0, 'x'.repeat(STEP));
    await expect(client.write(await client.open('more', 10), 0, 'x'.repeat(STEP))).rejects.toThrow('quota');
    await client.remove('file');
    await expect(client.write(handle, 0, 'x')).rejects.toThrow('removed');
    const takenBytes = await fill(client, 'other');
    await client.close(await client.open('other', FLAGS.WRITE | FLAGS.TRUNC));
    expect(readFileSync(join(directory, 'other')).length).toBe(0);
    expect(await fill(client, 'other')).toBe(takenBytes);
  });

  test('that is used up is a full disk to ldm, whatever it writes, and what was stored stays', async () => {
    const prng = createPrng(11);
    for (const quota of ['60K', '300K', '2MiB']) {
      const backend = servedBackend('--quota', quota);
      await backend.prepare(['', 'tmp', 'packs', 'locks']);
      const kept: string[] = [];
      let failedCount = 0;
      for (let round = 0; failedCount < 6; round += 1) {
        const name = `packs/${String(round).padStart(3, '0')}`;
        const published = await backend.publish(name, prng.bytes(prng.int(700_000) >> prng.int(12))).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (published === undefined) kept.push(name);
        else {
          failedCount += 1;
          expect(published).toMatchObject({ kind: 'full', errno: 'ENOSPC' });
        }
      }
      expect((await backend.list('packs')).map(({ name }) => name)).toEqual(kept);
      expect(await backend.list('tmp')).toEqual([]);
      await backend.claim('locks/a');
    }
  });

  test('is not exceeded much by two clients at once', async () => {
    const directory = temporaryDirectory();
    const [one, other] = [
      await RawClient.connect(directory, '--quota', '2MiB'),
      await RawClient.connect(directory, '--quota', '2MiB'),
    ];
    await fill(one, 'one');
    await fill(other, 'other');
    const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(4 * 1024 * 1024);
    // A new one counts again.
    await expect((await RawClient.connect(directory, '--quota', '2MiB')).put('third', 'x')).rejects.toThrow('quota');
  });
});

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { testBackendContract } from '../../contracts/backend-contract.ts';
import { expectErrno, writeFile } from '../../support/backend-actions.ts';
import { failOnce, replaceCall } from '../../support/replaced-call.ts';
import { systemError } from '../../support/system-error.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

testBackendContract('LocalBackend', () => new LocalBackend(temporaryDirectory()));

let directory: string;
let backend: LocalBackend;

beforeEach(async () => {
  directory = join(temporaryDirectory(), 'repository');
  backend = new LocalBackend(directory);
  await backend.makeDirectory('packs');
});

/** What was forced to the disk, as paths below the directory above the repository. */
function recordSyncs(): string[] {
  const paths: string[] = [];
  replaceCall('fsyncSync', () => (descriptor) => {
    paths.push(fs.readlinkSync(`/proc/self/fd/${descriptor}`).slice(join(directory, '..').length));
  });
  return paths;
}

describe('a repository in a directory', () => {
  test('is private, whatever the umask says', async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    await backend.makeDirectory('index/deep');
    await writeFile(backend, 'index/deep/a', Buffer.from('x'));
    const modes = ['', 'index', 'index/deep', 'index/deep/a'].map((name) => fs.statSync(join(directory, name)).mode);
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o700, 0o700, 0o600]);
  });

  test('stays where it is when the process goes elsewhere', async () => {
    const here = process.cwd();
    onTestFinished(() => process.chdir(here));
    process.chdir(join(directory, '..'));
    const relative = new LocalBackend('repository');
    process.chdir('/');
    await writeFile(relative, 'packs/a', Buffer.from('x'));
    expect(relative.location).toBe(fs.realpathSync(directory));
  });

  test.each(['../outside', 'packs/../../outside', '/etc/passwd', './packs', 'packs//a', 'packs/', 'a\0b'])(
    'does not take %j for a name',
    async (name) => {
      await expect(backend.read(name)).rejects.toThrow(assert.AssertionError);
      await expect(backend.create(name)).rejects.toThrow(assert.AssertionError);
    },
  );

  test('keeps no descriptor open after close, nor after remove', async () => {
    for (const name of ['packs/a', 'packs/b']) {
      await writeFile(backend, name, Buffer.from('x'));
      await backend.readRange(name, 0, Buffer.alloc(1));
    }
    expect(openBelow(directory)).toHaveLength(2);
    await backend.remove('packs/a');
    expect(openBelow(directory)).toHaveLength(1);
    await backend.close();
    expect(openBelow(directory)).toEqual([]);
  });

  test('keeps at most 32 files open for reading, and opens one once', async () => {
    for (let index = 0; index < 40; index += 1) await writeFile(backend, `packs/${index}`, Buffer.from('x'));
    let openCount = 0;
    replaceCall('openSync', (openSync) => (...given) => {
      openCount += 1;
      return openSync(...given);
    });
    for (let index = 0; index < 40; index += 1) await backend.readRange(`packs/${index}`, 0, Buffer.alloc(1));
    for (let round = 0; round < 5; round += 1) await backend.readRange('packs/39', 0, Buffer.alloc(1));
    expect(openBelow(directory)).toHaveLength(32);
    expect(openCount).toBe(40);
    await backend.close();
  });

  test('leaves out of a list what another process removes meanwhile', async () => {
    await writeFile(backend, 'packs/a', Buffer.from('x'));
    await writeFile(backend, 'packs/b', Buffer.from('x'));
    let isFirst = true;
    replaceCall(
      'lstatSync',
      (lstatSync) =>
        ((path: fs.PathLike, options: fs.StatSyncOptions) => {
          if (isFirst) fs.unlinkSync(path);
          isFirst = false;
          return lstatSync(path, options);
        }) as typeof lstatSync,
    );
    expect(await backend.list('packs')).toHaveLength(1);
  });

  test('does not take a list that fails for a shorter one', async () => {
    await writeFile(backend, 'packs/a', Buffer.from('x'));
    failOnce('lstatSync', systemError('EIO'));
    await expectErrno(backend.list('packs'), 'EIO');
  });
});

describe('a system that does less than it was asked', () => {
  test('short writes are continued', async () => {
    replaceCall(
      'writeSync',
      (writeSync) =>
        ((descriptor: number, bytes: Uint8Array, offset: number, size: number) =>
          writeSync(descriptor, bytes, offset, Math.min(size, 7))) as typeof writeSync,
    );
    const bytes = Buffer.from('a text that is longer than seven bytes');
    await writeFile(backend, 'packs/a', bytes.subarray(2));
    expect(await backend.read('packs/a')).toEqual(bytes.subarray(2));
  });

  test('a write of nothing is an error, not an endless loop', async () => {
    const writer = await backend.create('packs/a');
    replaceCall('writeSync', () => () => 0);
    await expectErrno(writer.append(Buffer.from('x')), 'EIO');
    await writer.close();
  });

  test('short reads are continued', async () => {
    replaceCall(
      'readSync',
      (readSync) =>
        ((descriptor: number, target: Uint8Array, offset: number, size: number, position: number) =>
          readSync(descriptor, target, offset, Math.min(size, 3), position)) as typeof readSync,
    );
    await writeFile(backend, 'packs/a', Buffer.from('0123456789'));
    const target = Buffer.alloc(8);
    await backend.readRange('packs/a', 1, target);
    expect(target.toString()).toBe('12345678');
  });
});

describe('a disk that fails', () => {
  test('a full disk is told as such, with what to do', async () => {
    const writer = await backend.create('packs/a');
    failOnce('writeSync', systemError('ENOSPC'));
    const error = await writer.append(Buffer.from('x')).catch((reason: unknown) => reason);
    await writer.close();
    expect(error).toMatchObject({
      errno: 'ENOSPC',
      message: `repository ${directory}: cannot write packs/a: no space left on device (ENOSPC)`,
      hint: expect.stringContaining('Free some space'),
    });
  });

  test('a file that is not as long as what was written is an error', async () => {
    const writer = await backend.create('packs/a');
    await writer.append(Buffer.from('0123456789'));
    fs.truncateSync(join(directory, 'packs/a'), 4);
    await expect(writer.sync()).rejects.toThrow('4 bytes long after 10 bytes');
    await writer.close();
  });

  test('a close that fails is an error, and is not tried again', async () => {
    const writer = await backend.create('packs/a');
    let closeCount = 0;
    replaceCall('closeSync', (closeSync) => (descriptor) => {
      closeSync(descriptor);
      closeCount += 1;
      throw systemError('EIO');
    });
    await expectErrno(writer.close(), 'EIO');
    await writer.close();
    expect(closeCount).toBe(1);
  });

  test.each(['EINVAL', 'ENOTSUP'])(
    'a file system that answers %s cannot sync directories, which is fine',
    async (errno) => {
      failOnce('fsyncSync', systemError(errno));
      await backend.syncDirectory('packs');
      expect(openBelow(directory)).toEqual([]);
    },
  );

  test('a directory that the disk refuses is an error', async () => {
    failOnce('fsyncSync', systemError('EIO'));
    await expectErrno(backend.syncDirectory('packs'), 'EIO');
    expect(openBelow(directory)).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('what is forced to the disk', () => {
  test('a new directory goes with the first sync in it, and once only', async () => {
    const syncs = recordSyncs();
    await backend.makeDirectory('packs/ab');
    await backend.makeDirectory('packs/cd');
    expect(syncs).toEqual([]);
    await backend.syncDirectory('packs/ab');
    await backend.syncDirectory('packs/cd');
    expect(syncs).toEqual(['/repository/packs/ab', '/repository/packs', '/repository', '/repository/packs/cd']);
  });

  test('the way down to a new repository is, when it is made', async () => {
    const syncs = recordSyncs();
    await new LocalBackend(join(directory, '../one/two/three')).makeDirectory('packs');
    expect(syncs).toEqual(['/one/two', '/one', '']);
  });
});

function openBelow(path: string): string[] {
  return fs
    .readdirSync('/proc/self/fd')
    .map((descriptor) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        return '';
      }
    })
    .filter((target) => target.startsWith(path));
}

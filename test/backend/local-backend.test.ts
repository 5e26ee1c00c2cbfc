import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';

import { LocalBackend } from '../../src/backend/local-backend.ts';
import { testBackendContract } from '../contracts/backend-contract.ts';
import { expectErrno, writeFile } from '../support/backend-actions.ts';
import { systemError } from '../support/system-error.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';

// The real calls, which single tests replace by what a bad disk does.
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  const spied = [
    'closeSync',
    'fstatSync',
    'fsync',
    'fsyncSync',
    'lstatSync',
    'openSync',
    'readSync',
    'writeSync',
  ] as const;
  return { ...original, ...Object.fromEntries(spied.map((name) => [name, vi.fn(original[name])])) };
});
const real = await vi.importActual<typeof fs>('node:fs');

testBackendContract('LocalBackend', () => new LocalBackend(temporaryDirectory()));

let directory: string;
let backend: LocalBackend;

beforeEach(async () => {
  directory = join(temporaryDirectory(), 'repository');
  backend = new LocalBackend(directory);
  await backend.makeDirectory('packs');
});

afterEach(() => {
  vi.clearAllMocks();
});

/** What was forced to the disk, as paths below the directory above the repository. */
function recordSyncs(): string[] {
  const paths: string[] = [];
  vi.mocked(fs.fsyncSync).mockImplementation((descriptor) => {
    paths.push(real.readlinkSync(`/proc/self/fd/${descriptor}`).slice(join(directory, '..').length));
  });
  onTestFinished(() => void vi.mocked(fs.fsyncSync).mockImplementation(real.fsyncSync));
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
    vi.mocked(fs.openSync).mockClear();
    for (let index = 0; index < 40; index += 1) await backend.readRange(`packs/${index}`, 0, Buffer.alloc(1));
    for (let round = 0; round < 5; round += 1) await backend.readRange('packs/39', 0, Buffer.alloc(1));
    expect(openBelow(directory)).toHaveLength(32);
    expect(fs.openSync).toHaveBeenCalledTimes(40);
    await backend.close();
  });

  test('leaves out of a list what another process removes meanwhile', async () => {
    await writeFile(backend, 'packs/a', Buffer.from('x'));
    await writeFile(backend, 'packs/b', Buffer.from('x'));
    vi.mocked(fs.lstatSync).mockImplementationOnce((path, options) => {
      fs.unlinkSync(path);
      return real.lstatSync(path, options);
    });
    expect(await backend.list('packs')).toHaveLength(1);
  });

  test('does not take a list that fails for a shorter one', async () => {
    await writeFile(backend, 'packs/a', Buffer.from('x'));
    vi.mocked(fs.lstatSync).mockImplementationOnce(() => {
      throw systemError('EIO');
    });
    await expectErrno(backend.list('packs'), 'EIO');
  });
});

describe('a system that does less than it was asked', () => {
  test('short writes are continued', async () => {
    vi.mocked(fs.writeSync).mockImplementation(((descriptor: number, bytes: Uint8Array, offset: number, size: number) =>
      real.writeSync(descriptor, bytes, offset, Math.min(size, 7))) as typeof fs.writeSync);
    onTestFinished(() => void vi.mocked(fs.writeSync).mockImplementation(real.writeSync));
    const bytes = Buffer.from('a text that is longer than seven bytes');
    await writeFile(backend, 'packs/a', bytes.subarray(2));
    expect(await backend.read('packs/a')).toEqual(bytes.subarray(2));
  });

  test('a write of nothing is an error, not an endless loop', async () => {
    const writer = await backend.create('packs/a');
    vi.mocked(fs.writeSync).mockReturnValueOnce(0);
    await expectErrno(writer.append(Buffer.from('x')), 'EIO');
    await writer.close();
  });

  test('short reads are continued', async () => {
    vi.mocked(fs.readSync).mockImplementation(((
      descriptor: number,
      target: Uint8Array,
      offset: number,
      size: number,
      position: number,
    ) => real.readSync(descriptor, target, offset, Math.min(size, 3), position)) as typeof fs.readSync);
    onTestFinished(() => void vi.mocked(fs.readSync).mockImplementation(real.readSync));
    await writeFile(backend, 'packs/a', Buffer.from('0123456789'));
    const target = Buffer.alloc(8);
    await backend.readRange('packs/a', 1, target);
    expect(target.toString()).toBe('12345678');
  });
});

describe('a disk that fails', () => {
  test('a full disk is told as such, with what to do', async () => {
    const writer = await backend.create('packs/a');
    vi.mocked(fs.writeSync).mockImplementationOnce(() => {
      throw systemError('ENOSPC');
    });
    const error = await writer.append(Buffer.from('x')).catch((reason: unknown) => reason);
    await writer.close();
    expect(error).toMatchObject({
      errno: 'ENOSPC',
      message: `repository ${directory}: cannot write packs/a: no space left on device (ENOSPC)`,
      hint: expect.stringContaining('Free some space'),
    });
  });

  test('a failed fsync is an error, and nobody may try again', async () => {
    const writer = await backend.create('packs/a');
    await writer.append(Buffer.from('x'));
    vi.mocked(fs.fsync).mockImplementationOnce((_descriptor, callback) => callback(systemError('EIO')));
    await expectErrno(writer.sync(), 'EIO');
    await expect(writer.sync()).rejects.toThrow(assert.AssertionError);
    await expect(writer.append(Buffer.from('x'))).rejects.toThrow(assert.AssertionError);
    await writer.close();
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
    vi.mocked(fs.closeSync).mockImplementationOnce((descriptor) => {
      real.closeSync(descriptor);
      throw systemError('EIO');
    });
    await expectErrno(writer.close(), 'EIO');
    await writer.close();
  });

  test.each(['EINVAL', 'ENOTSUP'])(
    'a file system that answers %s cannot sync directories, which is fine',
    async (errno) => {
      vi.mocked(fs.fsyncSync).mockImplementationOnce(() => {
        throw systemError(errno);
      });
      await backend.syncDirectory('packs');
      expect(openBelow(directory)).toEqual([]);
    },
  );

  test('a directory that the disk refuses is an error', async () => {
    vi.mocked(fs.fsyncSync).mockImplementationOnce(() => {
      throw systemError('EIO');
    });
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

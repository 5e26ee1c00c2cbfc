import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';

import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { BackendError, CorruptDataError } from '../../src/core/errors.ts';
import { expectErrno, writeFile } from '../support/backend-actions.ts';
import { testProperty } from '../support/property.ts';

/** What every backend must do. `makeBackend` is called in each test and gives an empty one; it cleans up after itself. */
export function testBackendContract(backendName: string, makeBackend: () => FileSystemBackend): void {
  describe(`${backendName} keeps the contract of backends`, () => {
    let backend: FileSystemBackend;

    beforeEach(async () => {
      backend = makeBackend();
      await backend.makeDirectory('');
      await backend.makeDirectory('packs');
      await backend.makeDirectory('tmp');
    });

    describe('writing and reading', () => {
      testProperty('what was appended is what is read, whatever the pieces', async (check) => {
        let fileCount = 0;
        await check(
          fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 8 }), async (pieces) => {
            const name = `packs/${(fileCount += 1)}`;
            const whole = Buffer.concat(pieces);
            await writeFile(backend, name, ...pieces);
            expect(await backend.read(name)).toEqual(whole);
            expect(await backend.sizeOf(name)).toBe(whole.length);
          }),
          { numRuns: 30 },
        );
      });

      test('the buffer of an append may be reused at once', async () => {
        const writer = await backend.create('packs/a');
        const buffer = Buffer.from('first');
        await writer.append(buffer);
        buffer.write('other');
        await writer.append(buffer);
        await writer.close();
        expect((await backend.read('packs/a')).toString()).toBe('firstother');
      });

      test('an append may be a part of a larger buffer, and empty', async () => {
        const whole = Buffer.from('0123456789');
        await writeFile(backend, 'packs/a', whole.subarray(3, 6), new Uint8Array(0), whole.subarray(9));
        expect((await backend.read('packs/a')).toString()).toBe('3459');
      });

      test('megabytes in one append arrive whole', async () => {
        const bytes = Buffer.alloc(9_000_001, 'large ');
        await writeFile(backend, 'packs/large', bytes);
        expect(bytes.equals(await backend.read('packs/large'))).toBe(true);
      });

      test('a file can be written under a name with dots, hyphens and 255 bytes', async () => {
        const name = `packs/${'long-name.'.repeat(25)}12345`;
        await writeFile(backend, name, Buffer.from('x'));
        expect(await backend.list('packs')).toMatchObject([{ name, sizeBytes: 1 }]);
      });

      test('creating a file that exists fails with EEXIST and leaves it as it is', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('kept'));
        await expectErrno(backend.create('packs/a'), 'EEXIST');
        expect((await backend.read('packs/a')).toString()).toBe('kept');
      });

      test('creating a file in an absent directory fails with ENOENT', async () => {
        await expectErrno(backend.create('absent/a'), 'ENOENT');
      });

      test('closing a writer twice is fine', async () => {
        const writer = await backend.create('packs/a');
        await writer.close();
        await writer.close();
        expect(await backend.sizeOf('packs/a')).toBe(0);
      });

      test('reading an absent file fails with ENOENT, and says what and where', async () => {
        await expectErrno(backend.read('packs/absent'), 'ENOENT');
        await expectErrno(backend.readRange('packs/absent', 0, new Uint8Array(1)), 'ENOENT');
        await expect(backend.read('packs/absent')).rejects.toThrow(/packs\/absent/);
        await expect(backend.read('packs/absent')).rejects.toThrow(backend.location);
      });
    });

    describe('ranges', () => {
      testProperty('any range inside a file is read exactly', async (check) => {
        const bytes = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251));
        await writeFile(backend, 'packs/a', bytes);
        const range = fc.tuple(fc.nat(5000), fc.nat(5000)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
        await check(
          fc.asyncProperty(range, async ([start, end]) => {
            const target = Buffer.alloc(end - start);
            await backend.readRange('packs/a', start, target);
            expect(target.equals(bytes.subarray(start, end))).toBe(true);
          }),
        );
      });

      test('a range into a part of a buffer leaves the rest alone', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('abcdef'));
        const buffer = Buffer.from('--------');
        await backend.readRange('packs/a', 1, buffer.subarray(2, 5));
        expect(buffer.toString()).toBe('--bcd---');
      });

      test.each([
        [0, 7],
        [3, 4],
        [6, 1],
        [100, 1],
      ])('a range at %i of %i bytes, beyond the end, is damage', async (offset, lengthBytes) => {
        await writeFile(backend, 'packs/a', Buffer.from('abcdef'));
        await expect(backend.readRange('packs/a', offset, Buffer.alloc(lengthBytes))).rejects.toThrow(CorruptDataError);
      });

      test('after a file is removed and made anew, ranges come from the new one', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('old'));
        await backend.readRange('packs/a', 0, Buffer.alloc(3));
        await backend.remove('packs/a');
        await expectErrno(backend.readRange('packs/a', 0, Buffer.alloc(3)), 'ENOENT');
        await writeFile(backend, 'packs/a', Buffer.from('new'));
        expect(await readText(backend, 'packs/a', 3)).toBe('new');
      });

      test('after a rename, ranges come from the file that has the name now', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('old'));
        await writeFile(backend, 'tmp/a', Buffer.from('new'));
        await readText(backend, 'packs/a', 3);
        await readText(backend, 'tmp/a', 3);
        await backend.rename('tmp/a', 'packs/a');
        expect(await readText(backend, 'packs/a', 3)).toBe('new');
        await expectErrno(backend.readRange('tmp/a', 0, Buffer.alloc(3)), 'ENOENT');
      });

      test('ranges of more files than may be open at once', async () => {
        const names = Array.from({ length: 80 }, (_, index) => `packs/${index}`);
        for (const name of names) await writeFile(backend, name, Buffer.from(name));
        for (const name of [...names, ...names.reverse()]) {
          expect(await readText(backend, name, name.length)).toBe(name);
        }
      });
    });

    describe('names', () => {
      test('a list has every file below the directory, at any depth, sorted by name, with its size', async () => {
        await backend.makeDirectory('packs/ab/deep');
        await backend.makeDirectory('packs/empty');
        for (const name of ['packs/b', 'packs/ab-c', 'packs/ab/deep/x', 'packs/ab/1', 'packs/B', 'tmp/other']) {
          await writeFile(backend, name, Buffer.from(name));
        }
        expect(await backend.list('packs')).toMatchObject(
          ['packs/B', 'packs/ab-c', 'packs/ab/1', 'packs/ab/deep/x', 'packs/b'].map((name) => ({
            name,
            sizeBytes: name.length,
          })),
        );
        for (const { modifiedMs } of await backend.list('packs')) {
          expect(modifiedMs).toBeGreaterThanOrEqual(Date.UTC(2001));
        }
        expect(await backend.list('packs/empty')).toEqual([]);
        expect((await backend.list('')).map(({ name }) => name)).toContain('tmp/other');
      });

      test('an absent directory cannot be listed', async () => {
        await expectErrno(backend.list('absent'), 'ENOENT');
      });

      test('an existing directory may be made again and keeps its files', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('x'));
        await backend.makeDirectory('packs');
        expect(await backend.sizeOf('packs/a')).toBe(1);
      });

      test('a rename moves the file and replaces what was there', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('old'));
        await writeFile(backend, 'tmp/a', Buffer.from('new'));
        await backend.rename('tmp/a', 'packs/a');
        expect((await backend.read('packs/a')).toString()).toBe('new');
        expect(await backend.sizeOf('tmp/a')).toBeUndefined();
      });

      test('renaming an absent file, or into an absent directory, fails with ENOENT', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('kept'));
        await expectErrno(backend.rename('packs/absent', 'packs/b'), 'ENOENT');
        await expectErrno(backend.rename('packs/a', 'absent/a'), 'ENOENT');
        expect((await backend.read('packs/a')).toString()).toBe('kept');
      });

      test('a file that is still being written can be renamed', async () => {
        const writer = await backend.create('tmp/a');
        await writer.append(Buffer.from('one '));
        await backend.rename('tmp/a', 'packs/a');
        await writer.append(Buffer.from('two'));
        await writer.sync();
        await writer.close();
        expect((await backend.read('packs/a')).toString()).toBe('one two');
      });

      test('remove says whether there was a file', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('x'));
        expect(await backend.remove('packs/a')).toBe(true);
        expect(await backend.remove('packs/a')).toBe(false);
        expect(await backend.sizeOf('packs/a')).toBeUndefined();
        expect(await backend.list('packs')).toEqual([]);
      });

      test('a directory is no file', async () => {
        expect(await backend.sizeOf('packs')).toBeUndefined();
        await expect(backend.read('packs')).rejects.toThrow(BackendError);
      });

      test('directories can be synced, the top one too, and an absent one cannot', async () => {
        await backend.syncDirectory('packs');
        await backend.syncDirectory('');
        await expectErrno(backend.syncDirectory('absent'), 'ENOENT');
      });
    });

    describe('heartbeats', () => {
      test('each touch changes the heartbeat, and nothing else does', async () => {
        await writeFile(backend, 'packs/a', Buffer.from('x'));
        const seen = [await backend.heartbeatOf('packs/a')];
        expect(await backend.heartbeatOf('packs/a')).toBe(seen[0]);
        for (let round = 0; round < 5; round += 1) {
          expect(await backend.touch('packs/a')).toBe(true);
          seen.push(await backend.heartbeatOf('packs/a'));
        }
        expect(new Set(seen).size).toBe(6);
        expect(await backend.sizeOf('packs/a')).toBe(1);
      });

      test('an absent file has none, and touching it does not make it', async () => {
        expect(await backend.heartbeatOf('packs/absent')).toBeUndefined();
        expect(await backend.touch('packs/absent')).toBe(false);
        expect(await backend.list('packs')).toEqual([]);
      });
    });
  });
}

async function readText(backend: FileSystemBackend, name: string, lengthBytes: number): Promise<string> {
  const target = Buffer.alloc(lengthBytes);
  await backend.readRange(name, 0, target);
  return target.toString();
}

import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import { CorruptDataError } from '../../src/core/errors.ts';
import { DIRECTORIES } from '../../src/core/format/layout.ts';
import { testProperty } from '../support/property.ts';

/** What the repository expects of every place. `makeBackend` gives an empty one, and cleans up after itself. */
export function testBackendOperations(backendName: string, makeBackend: () => Backend): void {
  describe(`${backendName} has the operations of backends`, () => {
    let backend: Backend;

    beforeEach(async () => {
      backend = makeBackend();
      await backend.prepare(['', ...DIRECTORIES, 'packs/ab']);
    });

    testProperty('what was appended is what is read, whatever the pieces', async (check) => {
      let fileCount = 0;
      await check(
        fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 6 }), async (pieces) => {
          const name = `${fileCount % 2 === 0 ? 'packs/ab' : 'index'}/${(fileCount += 1)}`;
          const file = await backend.stage();
          for (const piece of pieces) {
            const buffer = Buffer.from(piece);
            await file.append(buffer);
            buffer.fill(0);
          }
          await file.flush();
          await file.publish(name);
          const whole = Buffer.concat(pieces);
          expect(await backend.sizeOf(name)).toBe(whole.length);
          expect(Buffer.compare(await backend.read(name), whole)).toBe(0);
        }),
        { numRuns: 20 },
      );
    });

    testProperty('megabytes arrive whole, and so does any range of them', async (check) => {
      const bytes = Buffer.alloc(3_000_001);
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = (index * 31) % 251;
      await backend.publish('packs/a', bytes);
      expect(Buffer.compare(await backend.read('packs/a'), bytes)).toBe(0);
      const range = fc.tuple(fc.nat(bytes.length), fc.nat(5000));
      await check(
        fc.asyncProperty(range, async ([start, lengthBytes]) => {
          const target = Buffer.alloc(Math.min(lengthBytes, bytes.length - start));
          await backend.readRange('packs/a', start, target);
          expect(target.equals(bytes.subarray(start, start + target.length))).toBe(true);
        }),
        { numRuns: 20 },
      );
    });

    test.each([
      [0, 7],
      [3, 4],
      [6, 1],
      [100, 1],
    ])('a range at %i of %i bytes, beyond the end, is damage', async (offset, lengthBytes) => {
      await backend.publish('packs/a', Buffer.from('abcdef'));
      await expect(backend.readRange('packs/a', offset, Buffer.alloc(lengthBytes))).rejects.toThrow(CorruptDataError);
    });

    test('what is absent cannot be read, has no size and no heartbeat, and is removed without an effect', async () => {
      await expect(backend.read('packs/absent')).rejects.toMatchObject({ kind: 'absent' });
      await expect(backend.read('packs/absent')).rejects.toThrow('packs/absent');
      await expect(backend.readRange('packs/absent', 0, Buffer.alloc(1))).rejects.toMatchObject({ kind: 'absent' });
      await expect(backend.move('packs/absent', 'packs/b')).rejects.toMatchObject({ kind: 'absent' });
      expect(await backend.sizeOf('packs/absent')).toBeUndefined();
      expect(await backend.heartbeatOf('locks/absent')).toBeUndefined();
      expect(await backend.refresh('locks/absent')).toBe(false);
      // Object stores do not say whether there was anything.
      await backend.remove('packs/absent');
      await backend.release('locks/absent');
      expect(await backend.list('packs')).toEqual([]);
      expect(await backend.list('locks')).toEqual([]);
    });

    test('a list has every file below the directory, at any depth, sorted by name, with its size', async () => {
      const names = ['packs/B', 'packs/ab-c', 'packs/ab/1', 'packs/ab/deep', `packs/${'long-name.'.repeat(20)}`];
      for (const name of [...names, 'packs-other', 'index/other']) await backend.publish(name, Buffer.from(name));
      expect(await backend.list('packs')).toMatchObject(names.map((name) => ({ name, sizeBytes: name.length })));
      expect((await backend.list('')).map(({ name }) => name)).toContain('index/other');
    });

    test('sizes are those of the files that exist', async () => {
      const names = Array.from({ length: 70 }, (_, index) => `${index % 2 === 0 ? 'packs/ab' : 'index'}/${index}`);
      await Promise.all(names.map(async (name) => backend.publish(name, Buffer.from(name))));
      for (const wanted of [names.slice(0, 3), names]) {
        const sizes = await backend.sizesOf([...wanted, 'packs/none']);
        expect(Object.fromEntries(sizes)).toEqual(Object.fromEntries(wanted.map((name) => [name, name.length])));
      }
    });

    test('a file is replaced by one that is published or moved over it', async () => {
      await backend.publish('packs/a', Buffer.from('first'));
      await backend.publish('packs/a', Buffer.from('second'));
      await backend.barrier();
      expect(Buffer.from(await backend.read('packs/a')).toString()).toBe('second');
      await backend.publish('index/a', Buffer.from('third'));
      await backend.move('index/a', 'packs/a');
      expect(Buffer.from(await backend.read('packs/a')).toString()).toBe('third');
      expect(await backend.sizeOf('index/a')).toBeUndefined();
      const target = Buffer.alloc(5);
      await backend.readRange('packs/a', 0, target);
      expect(target.toString()).toBe('third');
      await backend.settle(['packs', 'index']);
    });

    test('of several that create a name, one succeeds', async () => {
      const count = 20;
      const outcomes = await Promise.allSettled(
        Array.from({ length: count }, async (_, index) => {
          const file = await backend.stage();
          await file.append(Buffer.from(String(index)));
          await file.publish('config', undefined, true);
          return index;
        }),
      );
      const done = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(done).toHaveLength(1);
      expect(Buffer.from(await backend.read('config')).toString()).toBe(String(done[0]));
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'exists' });
      }
    });

    test('nothing appears when the verification before the publication fails, or the file is discarded', async () => {
      const verify = async (): Promise<void> => {
        throw new Error('the lock is gone');
      };
      await expect(backend.publish('snapshots/a', Buffer.from('x'), verify)).rejects.toThrow('the lock is gone');
      const file = await backend.stage();
      await file.append(Buffer.from('x'));
      await file.discard();
      await file.discard();
      await backend.barrier();
      expect(await backend.list('')).toEqual([]);
    });

    test('of several that claim a lock, one succeeds; its heartbeat changes with each refresh', async () => {
      const outcomes = await Promise.allSettled(Array.from({ length: 10 }, async () => backend.claim('locks/a')));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const seen = [await backend.heartbeatOf('locks/a')];
      expect(await backend.heartbeatOf('locks/a')).toBe(seen[0]);
      for (let round = 0; round < 3; round += 1) {
        expect(await backend.refresh('locks/a')).toBe(true);
        seen.push(await backend.heartbeatOf('locks/a'));
      }
      expect(new Set(seen).size).toBe(4);
      expect(await backend.release('locks/a')).toBe(true);
      expect(await backend.refresh('locks/a')).toBe(false);
      expect(await backend.sizeOf('locks/a')).toBeUndefined();
    });
  });
}

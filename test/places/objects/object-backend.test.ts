import { describe, expect, onTestFinished, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { testBackendOperations } from '../../contracts/backend-operations.ts';
import { createPrng } from '../../support/prng.ts';
import { sha256 } from '../../../src/core/crypto/sha256.ts';
import { MemoryStore, failure } from '../../support/memory-store.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

testBackendOperations('ObjectBackend', () => objectBackend(new MemoryStore()));
testBackendOperations('LocalBackend', () => new LocalBackend(temporaryDirectory()));

function objectBackend(store: MemoryStore, retryForMs = 60_000): ObjectBackend {
  const backend = new ObjectBackend('memory:', store, { retryForMs, firstWaitMs: 2 });
  onTestFinished(async () => backend.close());
  return backend;
}

/** Makes the first request that matches fail, before or after it is carried out. Returns whether that has happened. */
function failOnce(store: MemoryStore, pattern: RegExp, error: Error, isDone = false): () => boolean {
  let hasFailed = false;
  store.onRequest = (request, done) => {
    if (hasFailed || done !== isDone || !pattern.test(request)) return;
    hasFailed = true;
    throw error;
  };
  return () => hasFailed;
}

/** Opens at the end of the test at the latest: a backend waits for its uploads when it is closed. */
function gateOfTest(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  onTestFinished(open);
  return { opened, open };
}

/** Every so many answers with an object have one wrong bit. */
class FlippingStore extends MemoryStore {
  readonly #prng = createPrng(4);
  percent = 0;

  override async get(key: string): Promise<Uint8Array> {
    const bytes = await super.get(key);
    if (this.#prng.int(100) < this.percent) bytes[this.#prng.int(bytes.length)]! ^= 1 << this.#prng.int(8);
    return bytes;
  }
}

describe('a repository in a store of objects', () => {
  test.each([30, 100])(
    'moves files as they are stored, whatever %i in a hundred answers say (seed 4)',
    async (percent) => {
      const store = new FlippingStore();
      const backend = objectBackend(store);
      await backend.prepare();
      for (let count = 0; count < 20; count += 1) {
        const bytes = Buffer.from(`content ${count} `.repeat(50));
        const id = sha256(bytes);
        // The name of a manifest says what is right; that of a file of the configuration does not.
        for (const source of [`snapshots/${id}`, `config-${count}`]) {
          store.objects.set(source, bytes);
          store.percent = percent;
          const target = `deleted/${id}`;
          const moving = backend.move(source, target);
          await moving.catch((error: unknown) => expect(error).toMatchObject({ code: 'UNRELIABLE_READ' }));
          expect(store.objects.get(target) ?? store.objects.get(source)).toEqual(bytes);
          store.objects.delete(target);
        }
      }
    },
  );

  test('has no directories, and an empty one differs from a place without a repository', async () => {
    const store = new MemoryStore();
    await expect(objectBackend(store).list('snapshots')).rejects.toMatchObject({ kind: 'absent' });
    expect(await objectBackend(store).examine()).toMatchObject({ missing: 'memory:', names: [] });
    store.objects.set('config', Buffer.from('x'));
    store.objects.set('snapshots/', Buffer.alloc(0));
    expect(await objectBackend(store).list('snapshots')).toEqual([]);
    expect(await objectBackend(store).examine()).toMatchObject({ missing: undefined, names: ['config', 'snapshots'] });
  });

  test.each(['config', 'config.bak'])('is there though only its file %s is left', async (name) => {
    const store = new MemoryStore();
    store.objects.set(name, Buffer.from('x'));
    expect(await objectBackend(store).list('snapshots')).toEqual([]);
  });

  test.each([false, true])('repeats what may pass (after it was carried out: %s)', async (isDone) => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.prepare();
    const lost = failure('transient');
    const steps: [RegExp, () => Promise<unknown>][] = [
      [/^put locks/, async () => backend.claim('locks/a')],
      [/^replace/, async () => expect(await backend.refresh('locks/a')).toBe(true)],
      [/^put snapshots/, async () => backend.publish('snapshots/a', Buffer.from('x'))],
      [/^remove/, async () => backend.move('snapshots/a', 'deleted/a')],
      [/^list/, async () => expect(await backend.list('deleted')).toHaveLength(1)],
      [/^remove/, async () => expect(await backend.release('locks/a')).toBe(true)],
    ];
    for (const [pattern, step] of steps) {
      const hasFailed = failOnce(store, pattern, lost, isDone);
      await step();
      expect(hasFailed(), String(pattern)).toBe(true);
    }
    expect([...store.objects.keys()]).toEqual(['deleted/a']);
  });

  test('asks for each of many names, and never takes the answer from a listing, which may be old', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.prepare();
    const names = Array.from({ length: 1000 }, (_, index) => `packs/${index % 100}/${index}`);
    for (const name of names) store.objects.set(name, Buffer.from(name));
    expect(await backend.list('packs')).toHaveLength(1000);
    for (const name of names.slice(500)) store.objects.delete(name);
    let atOnce = 0;
    let mostAtOnce = 0;
    store.requests.length = 0;
    store.onRequest = async (_, isDone) => {
      atOnce += isDone ? -1 : 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      await Promise.resolve();
    };
    expect([...(await backend.sizesOf(names)).keys()].toSorted()).toEqual(names.slice(0, 500).toSorted());
    expect(store.requests.toSorted()).toEqual(names.map((name) => `head ${name}`).toSorted());
    expect(mostAtOnce).toBe(store.requestsAtOnce);
  });

  test('tells its own lost creation from that of another one', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.prepare();
    let hasFailed = false;
    store.onRequest = (request, done) => {
      if (hasFailed || done || !request.startsWith('put')) return;
      hasFailed = true;
      store.objects.set('config', Buffer.from('of another one'));
      throw failure('transient');
    };
    const file = await backend.stage();
    await file.append(Buffer.from('ours'));
    await expect(file.publish('config', undefined, true)).rejects.toMatchObject({ kind: 'exists' });
    expect(hasFailed).toBe(true);
  });

  test('does not bring a lock back that was removed during a refresh', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.claim('locks/a');
    store.onRequest = (request, done) => {
      if (request === 'head locks/a' && done) store.objects.delete('locks/a');
    };
    expect(await backend.refresh('locks/a')).toBe(false);
    expect(store.objects.size).toBe(0);
  });

  test('keeps a file that was moved back while it was moved', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.publish('snapshots/a', Buffer.from('x'));
    store.onRequest = (request, done) => {
      if (request !== 'put deleted/a' || !done) return;
      store.onRequest = () => undefined;
      store.objects.delete('deleted/a');
    };
    await backend.move('snapshots/a', 'deleted/a');
    expect(store.objects.size).toBe(1);
  });

  test('gives up at once if the first request gets no answer, and after the time otherwise', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store, 20);
    store.onRequest = () => {
      throw failure('transient', false);
    };
    await expect(backend.sizeOf('config')).rejects.toThrow(/cannot connect to it: made by the test/);
    expect(store.requests).toHaveLength(1);
    store.onRequest = () => undefined;
    await backend.sizeOf('config');
    store.onRequest = () => {
      throw failure('transient', false);
    };
    await expect(backend.sizeOf('config')).rejects.toMatchObject({ kind: 'transient' });
    expect(store.requests.length).toBeGreaterThan(3);
  });
});

describe('uploads of packs', () => {
  test('go on together while the caller does something else, and not too many at once', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    let [current, most] = [0, 0];
    const gate = gateOfTest();
    store.onRequest = async (_request, done) => {
      current += done ? -1 : 1;
      most = Math.max(most, current);
      if (!done) await gate.opened;
    };
    const all = (async () => {
      for (let index = 0; index < 20; index += 1) await backend.publish(`packs/${index}`, Buffer.from('x'));
    })();
    await new Promise((resolve) => setImmediate(resolve));
    expect(most).toBe(6);
    gate.open();
    await all;
    await backend.barrier();
    expect([current, most, store.objects.size]).toEqual([0, 6, 20]);
  });

  test('that fail make every later barrier fail', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    const hasFailed = failOnce(store, /^put packs\/a/, failure('denied'));
    await backend.publish('packs/a', Buffer.from('x'));
    await expect(backend.barrier()).rejects.toMatchObject({ kind: 'denied' });
    expect(hasFailed()).toBe(true);
    await expect(backend.publish('packs/b', Buffer.from('x'))).rejects.toMatchObject({ kind: 'denied' });
    await expect(backend.barrier()).rejects.toMatchObject({ kind: 'denied' });
  });

  test('have ended when a lock is released', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.claim('locks/a');
    const gate = gateOfTest();
    store.onRequest = async (request, done) => {
      if (request === 'put packs/a' && !done) await gate.opened;
    };
    await backend.publish('packs/a', Buffer.from('x'));
    const releasing = backend.release('locks/a');
    await new Promise((resolve) => setImmediate(resolve));
    expect([...store.objects.keys()]).toEqual(['locks/a']);
    gate.open();
    expect(await releasing).toBe(true);
    expect([...store.objects.keys()]).toEqual(['packs/a']);
  });
});

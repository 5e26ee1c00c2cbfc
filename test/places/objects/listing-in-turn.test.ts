import { describe, expect, onTestFinished, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { MemoryStore } from '../../support/memory-store.ts';

function objectBackend(store: MemoryStore): ObjectBackend {
  const backend = new ObjectBackend('memory:', store, { retryForMs: 60_000, firstWaitMs: 2 });
  onTestFinished(async () => backend.close());
  return backend;
}

describe('a store of objects', () => {
  test('lists directories that have an order one after the other, and the others at once', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.prepare();
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    store.onRequest = async (request, isDone) => {
      if (isDone && request.startsWith('list')) await opened;
    };
    store.requests.length = 0;
    backend.readAhead({ inTurn: [['a', 'b'], ['c'], ['d', 'e']] });
    const listings = ['a', 'b', 'c', 'd', 'e'].map(async (name) => backend.list(name));
    await new Promise((resolve) => setImmediate(resolve));
    expect(store.requests).toEqual(['list a/', 'list b/']);
    open();
    await Promise.all(listings);
    expect(store.requests).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `list ${name}/`));
  });

  test('what must be fresh is asked for again', async () => {
    const store = new MemoryStore();
    const backend = objectBackend(store);
    await backend.prepare();
    backend.readAhead({ directories: ['index'] });
    backend.readAhead({ directories: ['index'] });
    await new Promise((resolve) => setImmediate(resolve));
    store.objects.set('index/new', Buffer.from('x'));
    backend.readAhead({ inTurn: [['index']] }, true);
    expect((await backend.list('index')).map(({ name }) => name)).toEqual(['index/new']);
  });
});

import { expect, onTestFinished, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import type { PutOptions } from '../../../src/places/objects/object-store.ts';
import { MemoryStore, failure } from '../../support/memory-store.ts';

/** For one client. Writes under the final name: a full disk leaves the beginning of an object. */
class PartStore extends MemoryStore {
  override readonly isShared: boolean = false;
  isFull = true;

  override async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    await super.put(key, this.isFull ? bytes.subarray(0, 3) : bytes, options);
    if (this.isFull) throw failure('transient');
  }
}

function objectBackend(store: MemoryStore, retryForMs = 60_000): ObjectBackend {
  const backend = new ObjectBackend('memory:', store, { retryForMs, firstWaitMs: 2 });
  onTestFinished(async () => backend.close());
  return backend;
}

test('writes an object again of which a request that failed has left a part', async () => {
  const store = new PartStore();
  const backend = objectBackend(store);
  store.onRequest = (request, isDone) => {
    if (request.startsWith('get locks/') && isDone) store.isFull = false;
  };
  await backend.claim('locks/a');
  expect(store.objects.get('locks/a')!.length).toBeGreaterThan(3);
});

test('reports why an object cannot be written of which a request that failed has left a part', async () => {
  const store = new PartStore();
  await expect(objectBackend(store, 50).claim('locks/a')).rejects.toMatchObject({ kind: 'transient' });
});

import type { Backend } from '../../src/core/backend/backend.ts';
import { ObjectBackend } from '../../src/places/objects/object-backend.ts';
import { MemoryStore, failure } from './memory-store.ts';

/** A bucket for a group. */
export interface Bucket {
  readonly place: string;
  readonly open: () => Backend;
  /** Makes its server fail every request, or answer again. */
  readonly setAway: (isAway: boolean) => void;
}

/** A bucket in memory. Nothing is repeated, so that its failures show at once. */
export function memoryBucket(store: MemoryStore = new MemoryStore()): Bucket & { readonly store: MemoryStore } {
  const place = 's3:https://memory.test/bucket/group';
  return {
    place,
    store,
    open: () => new ObjectBackend(place, store, { retryForMs: 0 }),
    setAway: (isAway) => {
      store.onRequest = () => {
        if (isAway) throw failure('transient', false);
      };
    },
  };
}

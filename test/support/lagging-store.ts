import { join } from 'node:path';

import { CachedBackend } from '../../src/places/remote/cached-backend.ts';
import type { Backend } from '../../src/core/backend/backend.ts';
import { storeBackend } from './disk-store.ts';
import { MemoryStore } from './memory-store.ts';

/** A store whose listings still have some names that were removed, and lack some that exist. */
export class LaggingStore extends MemoryStore {
  readonly stillListed: Set<string> = new Set();
  readonly unlisted: Set<string> = new Set();

  override async list(prefix: string): ReturnType<MemoryStore['list']> {
    const listed = await super.list(prefix);
    const removed = [...this.stillListed].filter((key) => key.startsWith(prefix) && !this.objects.has(key));
    return [...listed, ...removed.map((key) => ({ key, sizeBytes: 1 }))].filter(({ key }) => !this.unlisted.has(key));
  }
}

/** How a machine sees a store, with its cache. */
export function machineWith(store: MemoryStore, directory: string): Backend {
  return new CachedBackend(storeBackend(store), { directory: join(directory, 'cache') });
}

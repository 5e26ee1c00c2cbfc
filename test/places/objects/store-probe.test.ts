import { describe, expect, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import type { ObjectStatus, PutOptions, StoredObject } from '../../../src/places/objects/object-store.ts';
import { MemoryStore, failure } from '../../support/memory-store.ts';

async function prepare(store: MemoryStore, isSingleWriter = false): Promise<void> {
  const backend = new ObjectBackend('memory:', store, { retryForMs: 1000, firstWaitMs: 2 });
  try {
    await backend.prepare([], isSingleWriter);
  } finally {
    await backend.close();
    expect([...store.objects.keys()]).toEqual([]);
  }
}

/** Ignores `ifAbsent`. */
class Overwriting extends MemoryStore {
  override async put(key: string, bytes: Uint8Array, _options: PutOptions = {}): Promise<void> {
    await super.put(key, bytes);
  }
}

/** Ignores the version. */
class Replacing extends MemoryStore {
  override async replace(key: string, bytes: Uint8Array): Promise<boolean> {
    await super.put(key, bytes);
    return true;
  }
}

/** Replaces an object first, and then says whether it should have done so. */
class ReplacingTooEarly extends MemoryStore {
  readonly #versions = new Set<string>();

  override async head(key: string): Promise<ObjectStatus | undefined> {
    const status = await super.head(key);
    if (status?.version !== undefined) this.#versions.add(status.version);
    return status;
  }

  override async replace(key: string, bytes: Uint8Array, version: string): Promise<boolean> {
    await super.put(key, bytes);
    return this.#versions.has(version);
  }
}

/** Finds every version to be wrong, as Ceph 16 does with ETags in quotes. */
class NeverReplacing extends MemoryStore {
  override async replace(): Promise<boolean> {
    return false;
  }
}

class OtherRanges extends MemoryStore {
  override async getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array> {
    return await super.getRange(key, offset - 1, lengthBytes);
  }
}

class LateLists extends MemoryStore {
  override async list(): Promise<StoredObject[]> {
    return [];
  }
}

/** Reads the first content of a key for ever. */
class OldReads extends MemoryStore {
  readonly #first = new Map<string, Uint8Array>();

  override async get(key: string): Promise<Uint8Array> {
    return this.#first.get(key) ?? (await super.get(key));
  }

  override async put(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<void> {
    if (!this.#first.has(key)) this.#first.set(key, bytes);
    await super.put(key, bytes, options);
  }
}

describe('the probe of a store', () => {
  test('accepts one that does what it should, also if requests fail in between', async () => {
    await prepare(new MemoryStore());
    const store = new MemoryStore();
    let count = 0;
    store.onRequest = (request, isDone) => {
      count += 1;
      // The last removal is tried once: nothing relies on it.
      if (!isDone && count % 7 === 0 && !request.startsWith('remove')) throw failure('transient');
    };
    await prepare(store);
    expect(count).toBeGreaterThan(20);
  });

  test.each([
    [new Overwriting(), /cannot be used by several clients: an object that exists can be created once more/],
    [new Replacing(), /several clients: it replaces an object although it has changed/],
    [new ReplacingTooEarly(), /several clients: it replaces an object although it has changed/],
    [new NeverReplacing(), /several clients: it does not replace an object that is unchanged/],
  ])('accepts one without conditions only for a single writer (%#)', async (store, message) => {
    await expect(prepare(store)).rejects.toThrow(message);
    await expect(prepare(store)).rejects.toMatchObject({ code: 'REFUSED', advice: { code: 'use-single-writer' } });
    await prepare(store, true);
  });

  test.each([
    [new OtherRanges(), /cannot be used for a repository: it reads other bytes of an object/],
    [new LateLists(), /for a repository: a new object is not listed/],
    [new OldReads(), /for a repository: an object that was overwritten is not read as it is now/],
  ])('never accepts one that reads or lists something else (%#)', async (store, message) => {
    await expect(prepare(store)).rejects.toThrow(message);
    await expect(prepare(store, true)).rejects.toThrow(message);
  });
});

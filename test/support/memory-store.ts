import { createHash } from 'node:crypto';

import { StoreError } from '../../src/places/objects/object-store.ts';
import type { ObjectStatus, ObjectStore, PutOptions, StoredObject } from '../../src/places/objects/object-store.ts';

/** A store of objects in memory. A test may look at the objects, and set faults that happen before or after a request. */
export class MemoryStore implements ObjectStore {
  readonly isShared: boolean = true;
  readonly requestsAtOnce: number = 8;
  readonly objects: Map<string, Buffer>;
  /** The requests so far, such as `put packs/a`. */
  readonly requests: string[] = [];
  /** Called with each request before it is carried out, and then with `true` after that. */
  onRequest: (request: string, isDone: boolean) => void | Promise<void> = () => undefined;

  constructor(objects: Map<string, Buffer> = new Map()) {
    this.objects = objects;
  }

  async put(key: string, bytes: Uint8Array, { ifAbsent = false }: PutOptions = {}): Promise<void> {
    await this.#request(`put ${key}`, () => {
      if (ifAbsent && this.objects.has(key)) throw failure('exists');
      this.objects.set(key, Buffer.from(bytes));
    });
  }

  async replace(key: string, bytes: Uint8Array, version: string): Promise<boolean> {
    return await this.#request(`replace ${key}`, () => {
      const old = this.objects.get(key);
      if (old === undefined || versionOf(old) !== version) return false;
      this.objects.set(key, Buffer.from(bytes));
      return true;
    });
  }

  async get(key: string): Promise<Uint8Array> {
    return await this.#request(`get ${key}`, () => Buffer.from(this.#existing(key)));
  }

  async getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array> {
    return await this.#request(`getRange ${key}`, () =>
      Buffer.from(this.#existing(key).subarray(offset, offset + lengthBytes)),
    );
  }

  async head(key: string): Promise<ObjectStatus | undefined> {
    return await this.#request(`head ${key}`, () => {
      const bytes = this.objects.get(key);
      return bytes === undefined ? undefined : { sizeBytes: bytes.length, version: versionOf(bytes) };
    });
  }

  async remove(key: string): Promise<void> {
    await this.#request(`remove ${key}`, () => this.objects.delete(key));
  }

  async list(prefix: string): Promise<StoredObject[]> {
    return await this.#request(`list ${prefix}`, () =>
      [...this.objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, bytes]) => ({ key, sizeBytes: bytes.length })),
    );
  }

  async children(prefix: string): Promise<string[]> {
    const files = await this.list(prefix);
    return [...new Set(files.map(({ key }) => key.slice(prefix.length).split('/', 1)[0]!))];
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  #existing(key: string): Buffer {
    const bytes = this.objects.get(key);
    if (bytes === undefined) throw failure('absent');
    return bytes;
  }

  async #request<T>(request: string, action: () => T): Promise<T> {
    this.requests.push(request);
    await this.onRequest(request, false);
    const result = action();
    await this.onRequest(request, true);
    return result;
  }
}

/** A failure of a request to a store. */
export function failure(kind: StoreError['kind'], isAnswer = true): StoreError {
  return new StoreError(`made by the test: ${kind}`, { kind, isAnswer });
}

function versionOf(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

import { StoreError } from '../objects/object-store.ts';
import type { ObjectStatus, ObjectStore, PutOptions, StoredObject } from '../objects/object-store.ts';
import type { S3Store } from './s3-store.ts';

/** Left out: what other processes had locked at that time, and their temporary files. */
const PASSING = /^(?:locks|tmp)\//;

interface PastObject extends StoredObject {
  readonly versionId: string;
}

/**
 * A bucket with versions as it was just before the given second. All its versions are listed once. Nothing can be written; the locks of this
 * process are in memory, since nothing that happens now changes what was.
 */
export class PastStore implements ObjectStore {
  readonly isShared: boolean = true;
  readonly requestsAtOnce: number;
  readonly #store: S3Store;
  readonly #timeMs: number;
  readonly #locks = new Map<string, Uint8Array>();
  #listing: Promise<void> | undefined;
  #objects: ReadonlyMap<string, PastObject> = new Map();

  /** @param open - opens the store that reads the versions that its argument names */
  constructor(open: (versionOf: (key: string) => string | undefined) => S3Store, timeMs: number) {
    this.#store = open((key) => this.#objects.get(key)?.versionId);
    this.#timeMs = timeMs;
    this.requestsAtOnce = this.#store.requestsAtOnce;
  }

  clockAheadMs(): number | undefined {
    return this.#store.clockAheadMs();
  }

  async put(key: string, bytes: Uint8Array, { ifAbsent = false }: PutOptions = {}): Promise<void> {
    if (!key.startsWith('locks/')) throw refusal();
    if (ifAbsent && this.#locks.has(key)) throw new StoreError('it exists', { kind: 'exists', isAnswer: true });
    this.#locks.set(key, bytes);
  }

  async get(key: string): Promise<Uint8Array> {
    const lock = this.#locks.get(key);
    if (lock !== undefined) return lock;
    await this.#assertExists(key);
    return await this.#store.get(key);
  }

  async getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array> {
    await this.#assertExists(key);
    return await this.#store.getRange(key, offset, lengthBytes);
  }

  async head(key: string): Promise<ObjectStatus | undefined> {
    const lock = this.#locks.get(key);
    if (lock !== undefined) return { sizeBytes: lock.length, version: Buffer.from(lock).toString('hex') };
    const found = (await this.#past()).get(key);
    return found === undefined ? undefined : { sizeBytes: found.sizeBytes, version: found.versionId };
  }

  async remove(key: string): Promise<void> {
    if (!this.#locks.delete(key) && !PASSING.test(key)) throw refusal();
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const locks = [...this.#locks].map(([key, { length }]) => ({ key, sizeBytes: length }));
    return [...locks, ...(await this.#past()).values()].filter(({ key }) => key.startsWith(prefix));
  }

  async children(prefix: string): Promise<string[]> {
    const keys = (await this.list(prefix)).map(({ key }) => key.slice(prefix.length).split('/', 1)[0]!);
    return [...new Set(keys)];
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async #assertExists(key: string): Promise<void> {
    if (!(await this.#past()).has(key)) throw new StoreError('it did not exist', { kind: 'absent', isAnswer: true });
  }

  /** A failure is not remembered: the request is repeated. */
  async #past(): Promise<ReadonlyMap<string, PastObject>> {
    this.#listing ??= this.#list().catch((error: unknown) => {
      this.#listing = undefined;
      throw error;
    });
    await this.#listing;
    return this.#objects;
  }

  async #list(): Promise<void> {
    const objects = new Map<string, PastObject>();
    const decided = new Set<string>();
    for await (const versions of this.#store.versionPages()) {
      for (const { key, id, sizeBytes, modifiedMs = Infinity } of versions) {
        if (secondOf(modifiedMs) >= secondOf(this.#timeMs) || decided.has(key) || PASSING.test(key)) continue;
        decided.add(key);
        if (sizeBytes !== undefined) objects.set(key, { key, sizeBytes, modifiedMs, versionId: id });
      }
    }
    this.#objects = objects;
  }
}

/** Servers name only the second in which a version was written, so the whole second of the time is left out. */
function secondOf(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}

function refusal(): StoreError {
  return new StoreError('the bucket is read as it was, so nothing can be written', { kind: 'denied', isAnswer: true });
}

import { randomBytes } from 'node:crypto';

import { RefusedError } from '../../core/errors.ts';
import { StoreError } from './object-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { StoreRequests } from './store-requests.ts';

/** What a store gets wrong. */
interface StoreFlaw {
  readonly reason: string;
  /** Whether the store is good enough as long as only one client writes at a time. */
  readonly isSafeAlone: boolean;
}

/** Makes one request, and repeats it if it fails with what may pass. */
type Run = <T>(request: () => Promise<T>) => Promise<T>;

const ONE = Buffer.from('the first content of an object that tests this store');
const OTHER = Buffer.from('another content, of an object that was replaced');
const OFFSET = 3;
const LENGTH_BYTES = 9;

/**
 * Tries what a repository needs with an object under a temporary name, which is removed again. Some servers ignore the
 * conditions of a request instead of refusing it.
 * @throws RefusedError if the store is not good enough
 */
export async function assertUsable(
  store: ObjectStore,
  requests: StoreRequests,
  isSingleWriter: boolean,
): Promise<void> {
  const flaw = await findFlaw(store, async (request) => requests.attempt(request)).catch((error: unknown) => {
    throw error instanceof StoreError ? requests.failure('append', 'tmp', error) : error;
  });
  if (flaw === undefined || (isSingleWriter && flaw.isSafeAlone)) return;
  const purpose = flaw.isSafeAlone ? 'by several clients' : 'for a repository';
  throw new RefusedError(`${requests.location} cannot be used ${purpose}: ${flaw.reason}`, {
    advice: { code: flaw.isSafeAlone ? 'use-single-writer' : 'choose-other-place' },
  });
}

/** Returns the first flaw; undefined if there is none. */
async function findFlaw(store: ObjectStore, run: Run): Promise<StoreFlaw | undefined> {
  const key = `tmp/${randomBytes(16).toString('hex')}`;
  const probe = new Probe(store, run, key);
  try {
    return (await probe.findDamage()) ?? (await probe.findSharingFlaw()) ?? (await probe.findLeftover());
  } finally {
    await store.remove(key).catch(() => undefined);
  }
}

class Probe {
  readonly #store: ObjectStore;
  readonly #run: Run;
  readonly #key: string;

  constructor(store: ObjectStore, run: Run, key: string) {
    this.#store = store;
    this.#run = run;
    this.#key = key;
  }

  /** Reading and listing right after writing. */
  async findDamage(): Promise<StoreFlaw | undefined> {
    const key = this.#key;
    const refuse = (reason: string): StoreFlaw => ({ reason, isSafeAlone: false });
    await this.#run(async () => this.#store.put(key, OTHER));
    await this.#run(async () => this.#store.put(key, ONE));
    if (!ONE.equals(await this.#read())) return refuse('an object that was overwritten is not read as it is now');
    const part = await this.#run(async () => this.#store.getRange(key, OFFSET, LENGTH_BYTES));
    if (!ONE.subarray(OFFSET, OFFSET + LENGTH_BYTES).equals(part)) return refuse('it reads other bytes of an object');
    const listed = await this.#find();
    if (listed?.sizeBytes !== ONE.length) return refuse('a new object is not listed with its size at once');
    return undefined;
  }

  /** Conditions of requests, with the object as it is now. */
  async findSharingFlaw(): Promise<StoreFlaw | undefined> {
    const refuse = (reason: string): StoreFlaw => ({ reason, isSafeAlone: true });
    const store = this.#store;
    const key = this.#key;
    const isCreationRefused = await this.#isCreationRefused();
    if (!store.isShared) return refuse('it has no way to create an object only if it is absent (If-None-Match)');
    if (!isCreationRefused) return refuse('an object that exists can be created once more (If-None-Match)');
    const version = (await this.#run(async () => store.head(key)))?.version;
    if (store.replace === undefined || version === undefined) return refuse('it cannot replace only what is unchanged');
    const wrong = version.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
    const isReplaced = await this.#run(async () => store.replace!(key, OTHER, wrong));
    if (isReplaced || !ONE.equals(await this.#read())) {
      return refuse('it replaces an object although it has changed (If-Match)');
    }
    if (!(await this.#run(async () => store.replace!(key, OTHER, version))) || !store.isShared) {
      return refuse('it does not replace an object that is unchanged (If-Match)');
    }
    return OTHER.equals(await this.#read()) ? undefined : refuse('a replaced object is not read as it is now');
  }

  async findLeftover(): Promise<StoreFlaw | undefined> {
    await this.#run(async () => this.#store.remove(this.#key));
    const isGone = (await this.#run(async () => this.#store.head(this.#key))) === undefined;
    if (isGone && (await this.#find()) === undefined) return undefined;
    return { reason: 'an object that was removed is still there', isSafeAlone: false };
  }

  async #isCreationRefused(): Promise<boolean> {
    try {
      await this.#run(async () => this.#store.put(this.#key, OTHER, { ifAbsent: true }));
      return false;
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'exists') return true;
      throw error;
    }
  }

  async #read(): Promise<Uint8Array> {
    return await this.#run(async () => this.#store.get(this.#key));
  }

  async #find(): Promise<{ readonly sizeBytes: number } | undefined> {
    const objects = await this.#run(async () => this.#store.list('tmp/'));
    return objects.find(({ key }) => key === this.#key);
  }
}

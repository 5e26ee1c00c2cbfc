import { randomBytes } from 'node:crypto';

import { RefusedError } from '../../core/errors.ts';
import { bothOf } from '../../core/util/map-concurrently.ts';
import { StoreError } from './object-store.ts';
import type { ObjectStatus, ObjectStore } from './object-store.ts';
import type { PendingUploads } from './pending-uploads.ts';
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
 * Tries what a repository needs with objects under temporary names. Some servers ignore the conditions of a request
 * instead of refusing it. Each trial has an object of its own, so that all are made at once.
 * @param uploads - get the removals of these objects, which nothing relies on
 * @throws RefusedError if the store is not good enough
 */
export async function assertUsable(
  store: ObjectStore,
  requests: StoreRequests,
  { isSingleWriter, uploads }: { readonly isSingleWriter: boolean; readonly uploads: PendingUploads },
): Promise<void> {
  const run: Run = async (request) => requests.attempt(request);
  const removeLater = (key: string): void =>
    uploads.add(
      key,
      store.remove(key).catch(() => undefined),
    );
  const flaw = await findFlaw(store, run, removeLater).catch((error: unknown) => {
    throw error instanceof StoreError ? requests.failure('append', 'tmp', error) : error;
  });
  if (flaw === undefined || (isSingleWriter && flaw.isSafeAlone)) return;
  const purpose = flaw.isSafeAlone ? 'by several clients' : 'for a repository';
  throw new RefusedError(`${requests.location} cannot be used ${purpose}: ${flaw.reason}`, {
    advice: { code: flaw.isSafeAlone ? 'use-single-writer' : 'choose-other-place' },
  });
}

/** The most serious flaws come first: whether one is reported does not depend on which answer comes first. */
const TRIALS: readonly ((trial: Trial) => Promise<StoreFlaw | undefined>)[] = [
  async (trial) => trial.findDamage(),
  async (trial) => trial.findLeftover(),
  async (trial) => trial.findCreationFlaw(),
  async (trial) => trial.findReplacementFlaw(),
  async (trial) => trial.findRefusalFlaw(),
];

/** Returns the first flaw; undefined if there is none. */
async function findFlaw(
  store: ObjectStore,
  run: Run,
  removeLater: (key: string) => void,
): Promise<StoreFlaw | undefined> {
  const trying = TRIALS.map(async (find) => {
    const key = `tmp/${randomBytes(16).toString('hex')}`;
    return await find(new Trial(store, run, key)).finally(() => removeLater(key));
  });
  await Promise.allSettled(trying);
  for (const each of trying) {
    const flaw = await each;
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

const unfit = (reason: string): StoreFlaw => ({ reason, isSafeAlone: false });
const unshared = (reason: string): StoreFlaw => ({ reason, isSafeAlone: true });

/** Tries one thing with an object. */
class Trial {
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
    await this.#put(OTHER);
    await this.#put(ONE);
    const getRange = async (): Promise<Uint8Array> => this.#store.getRange(this.#key, OFFSET, LENGTH_BYTES);
    const [[whole, part], listed] = await bothOf(bothOf(this.#read(), this.#run(getRange)), this.#find());
    if (!ONE.equals(whole)) return unfit('an object that was overwritten is not read as it is now');
    if (!ONE.subarray(OFFSET, OFFSET + LENGTH_BYTES).equals(part)) return unfit('it reads other bytes of an object');
    if (listed?.sizeBytes !== ONE.length) return unfit('a new object is not listed with its size at once');
    return undefined;
  }

  async findLeftover(): Promise<StoreFlaw | undefined> {
    await this.#put(ONE);
    await this.#run(async () => this.#store.remove(this.#key));
    const [status, listed] = await bothOf(this.#head(), this.#find());
    if (status === undefined && listed === undefined) return undefined;
    return unfit('an object that was removed is still there');
  }

  async findCreationFlaw(): Promise<StoreFlaw | undefined> {
    await this.#put(ONE);
    const isRefused = await this.#isCreationRefused();
    if (!this.#store.isShared)
      return unshared('it has no way to create an object only if it is absent (If-None-Match)');
    return isRefused ? undefined : unshared('an object that exists can be created once more (If-None-Match)');
  }

  /** Whether an object is replaced although it has changed. */
  async findReplacementFlaw(): Promise<StoreFlaw | undefined> {
    await this.#put(ONE);
    const version = (await this.#head())?.version;
    if (this.#store.replace === undefined || version === undefined)
      return unshared('it cannot replace only what is unchanged');
    const wrong = version.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
    const isReplaced = await this.#replace(wrong);
    if (!isReplaced && ONE.equals(await this.#read())) return undefined;
    return unshared('it replaces an object although it has changed (If-Match)');
  }

  /** Whether an object is not replaced although it is unchanged. */
  async findRefusalFlaw(): Promise<StoreFlaw | undefined> {
    await this.#put(ONE);
    const version = (await this.#head())?.version;
    if (this.#store.replace === undefined || version === undefined) return undefined;
    if (!(await this.#replace(version)) || !this.#store.isShared)
      return unshared('it does not replace an object that is unchanged (If-Match)');
    return OTHER.equals(await this.#read()) ? undefined : unshared('a replaced object is not read as it is now');
  }

  async #put(bytes: Uint8Array): Promise<void> {
    await this.#run(async () => this.#store.put(this.#key, bytes));
  }

  async #head(): Promise<ObjectStatus | undefined> {
    return await this.#run(async () => this.#store.head(this.#key));
  }

  async #replace(version: string): Promise<boolean> {
    return await this.#run(async () => this.#store.replace!(this.#key, OTHER, version));
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

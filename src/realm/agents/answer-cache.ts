import type { Redis } from 'ioredis';
import { loadOptional } from '../../core/util/optional-package.ts';

/** How long an answer may be used. A plane may be that old; absence soon is not true any more. */
export const EXPIRY_SECONDS = { plane: 600, present: 600, absent: 30 } as const;

/** Authenticates cached values, so that a forged one is not used. */
interface CacheKeys {
  mac(...parts: readonly Uint8Array[]): Uint8Array;
  verifies(mac: Uint8Array, ...parts: readonly Uint8Array[]): boolean;
}

/**
 * Small values that expire. It is never needed: a value that is missing, damaged or late is like none, and what cannot be
 * written is not there the next time.
 */
export interface AnswerCache {
  get(name: string): Promise<Uint8Array | undefined>;
  set(name: string, value: Uint8Array, expirySeconds: number): Promise<void>;
  /** Returns why it cannot be used now; undefined if it answers. */
  problem(): Promise<string | undefined>;
  close(): void;
}

const MAC_BYTES = 32;
const DEADLINE_MS = 200;

/**
 * Opens a cache on Redis. Nothing is accessed yet.
 * @param url - `redis://host:port` or a path of a Unix socket
 * @throws MissingPackageError
 */
export async function openAnswerCache(
  url: string,
  options: { readonly realmId: string; readonly keys: CacheKeys; readonly deadlineMs?: number },
): Promise<AnswerCache> {
  const { Redis: Client } = await loadOptional('a cache on Redis', ['ioredis'], async () => import('ioredis'));
  const { deadlineMs = DEADLINE_MS } = options;
  const client = new Client(url, {
    lazyConnect: true,
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
    connectTimeout: deadlineMs,
    commandTimeout: deadlineMs,
    retryStrategy: () => null,
  });
  return new RedisCache(client, options);
}

/** A place of a cache as it may be shown: without its password. */
export function shownCachePlace(place: string): string {
  if (!URL.canParse(place)) return place;
  const url = new URL(place);
  if (url.password === '') return place;
  url.password = '***';
  return url.href;
}

class RedisCache implements AnswerCache {
  readonly #client: Redis;
  readonly #prefix: string;
  readonly #keys: CacheKeys;
  readonly #deadlineMs: number;
  /** After a failure it is not asked again: each command would wait for the deadline once more. */
  #isGivenUp = false;
  #failure: string | undefined;

  constructor(
    client: Redis,
    given: { readonly realmId: string; readonly keys: CacheKeys; readonly deadlineMs?: number },
  ) {
    this.#client = client;
    this.#prefix = `ldm:${given.realmId}:`;
    this.#keys = given.keys;
    this.#deadlineMs = given.deadlineMs ?? DEADLINE_MS;
    // It says more than the call that it makes fail, which it rejects as well.
    client.on('error', (error: Error) => (this.#failure = error.message));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    const key = `${this.#prefix}${name}`;
    const stored = await this.#orNothing(async () => this.#client.getBuffer(key));
    if (stored === undefined || stored === null) return undefined;
    const value = stored.subarray(MAC_BYTES);
    return this.#keys.verifies(stored.subarray(0, MAC_BYTES), Buffer.from(key), value) ? value : undefined;
  }

  async set(name: string, value: Uint8Array, expirySeconds: number): Promise<void> {
    const key = `${this.#prefix}${name}`;
    const stored = Buffer.concat([this.#keys.mac(Buffer.from(key), value), value]);
    await this.#orNothing(async () => this.#client.set(key, stored, 'EX', expirySeconds));
  }

  async problem(): Promise<string | undefined> {
    if ((await this.#orNothing(async () => this.#client.ping())) !== undefined) return undefined;
    return this.#failure ?? 'it has failed before';
  }

  close(): void {
    this.#client.disconnect();
  }

  async #orNothing<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#isGivenUp) return undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`it did not answer within ${this.#deadlineMs / 1000} s`)),
        this.#deadlineMs,
      );
    });
    try {
      return await Promise.race([work(), late]);
    } catch (error) {
      this.#isGivenUp = true;
      this.#failure ??= error instanceof Error ? error.message : String(error);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

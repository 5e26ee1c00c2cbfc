import type { OldVersions } from '../../core/backend/backend.ts';
import type { BackendErrorKind } from '../../core/errors.ts';

/** An object in a store. */
export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
  /** When it was put there, by the clock of the store. Undefined if the store does not say it. */
  readonly modifiedMs?: number | undefined;
}

/** What a store says about one object. */
export interface ObjectStatus {
  readonly sizeBytes: number;
  /** Changes with the content, such as an ETag. Undefined if the store has nothing like that. */
  readonly version: string | undefined;
}

export interface PutOptions {
  /** Fails with the kind `exists` if there is an object with this key. */
  readonly ifAbsent?: boolean | undefined;
}

/**
 * A store of whole objects, such as a bucket. Keys are relative paths with `/`. An object appears whole or not at all,
 * and is durable when `put` returns. Every failure is a `StoreError`. A store makes each request once: `ObjectBackend`
 * repeats what may pass.
 */
export interface ObjectStore {
  /**
   * Whether of several clients that create one key with `ifAbsent` exactly one succeeds. Otherwise only one client may
   * write at a time.
   */
  readonly isShared: boolean;
  /** These three as in `Backend`. */
  clockAheadMs?(): number | undefined;
  readonly keepsRemoved?: boolean | undefined;
  oldVersions?(): Promise<OldVersions | 'unknown' | undefined>;
  /** Fails if the store cannot do what the user wants of it. */
  assertReady?(): Promise<void>;
  /** How many requests are worth having under way at once. */
  readonly requestsAtOnce: number;

  /** Creates or replaces an object. */
  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void>;
  /**
   * Replaces an object only if it still has this version, as one step. Returns false if the object is gone or has
   * another version. Missing in stores that cannot do it.
   */
  replace?(key: string, bytes: Uint8Array, version: string): Promise<boolean>;
  /** Fails with the kind `absent` if there is no such object. */
  get(key: string): Promise<Uint8Array>;
  /** Returns the bytes from `offset` on, fewer than `lengthBytes` if the object ends earlier. */
  getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array>;
  /** Returns undefined if there is no such object. */
  head(key: string): Promise<ObjectStatus | undefined>;
  /** Removes an object. Succeeds if there is none. */
  remove(key: string): Promise<void>;
  /** Lists the objects whose keys start with a prefix, in any order. A place that does not exist is empty. */
  list(prefix: string): Promise<StoredObject[]>;
  /**
   * Returns the first parts, up to a `/`, of what follows the prefix in the keys. Only the first thousand or so are
   * needed. A place that does not exist is empty.
   */
  children(prefix: string): Promise<string[]>;
  /** Ends all connections. Requests that are under way may fail. */
  close(): Promise<void>;
}

/** Why a request to a store has failed. */
export class StoreError extends Error {
  readonly kind: BackendErrorKind;
  /** What to do about it, as one sentence. */
  readonly hint: string | undefined;
  /** Whether the store has answered. If not, its address may be wrong. */
  readonly isAnswer: boolean;

  constructor(
    message: string,
    details: {
      readonly kind: BackendErrorKind;
      readonly isAnswer: boolean;
      readonly hint?: string | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'StoreError';
    this.kind = details.kind;
    this.isAnswer = details.isAnswer;
    this.hint = details.hint;
  }
}

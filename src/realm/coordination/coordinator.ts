/** What a coordinator keeps about each domain. */
export type RecordKind = 'members' | 'live' | 'state';

/** A record with its version, which every write changes. */
export interface VersionedRecord {
  readonly bytes: Uint8Array;
  readonly version: number;
}

/**
 * The small shared state of a realm: for each domain a record of each kind, of at most `MAX_RECORD_BYTES`. It says what
 * is, never what has happened: a reader reads all records again whenever `watch` tells that something may have changed.
 *
 * Every call ends within a deadline. All reject with a `CoordinatorError` if the coordinator cannot be reached.
 */
export interface Coordinator {
  /** For messages, without a password. */
  readonly location: string;
  /** The ids of the domains that have a record of this kind, sorted. */
  list(kind: RecordKind): Promise<string[]>;
  read(kind: RecordKind, domainId: string): Promise<VersionedRecord | undefined>;
  /**
   * Writes a record if it still has the version that the caller has read; undefined: if there is none. Returns the new
   * version, or undefined if another process was faster.
   */
  write(
    kind: Exclude<RecordKind, 'live'>,
    domainId: string,
    bytes: Uint8Array,
    version: number | undefined,
  ): Promise<number | undefined>;
  /** Removes a record. No error if there is none. */
  remove(kind: RecordKind, domainId: string): Promise<void>;
  /** Keeps a `live` record until `close`, or until this process ends or cannot be reached for a while. */
  announce(domainId: string, bytes: Uint8Array): Promise<void>;
  /**
   * Calls `onChange` after any number of changes, and whenever changes may have been missed. Returns a function that
   * ends it.
   */
  watch(onChange: () => void): Promise<() => void>;
  /** Keeps the planes of all members. Undefined: each member keeps its own. */
  readonly planes?: SharedPlanes | undefined;
  close(): Promise<void>;
}

/** The plane files of all members in one place, with the names of src/realm/planes/plane-names.ts. */
export interface SharedPlanes {
  names(domainId: string): Promise<readonly string[]>;
  /** Returns undefined if there is no such file. A file that is larger than `limitBytes` is an error. */
  read(domainId: string, name: string, limitBytes: number): Promise<Uint8Array | undefined>;
  /** Returns false if there is a file of this name. */
  writeNew(domainId: string, name: string, bytes: Uint8Array): Promise<boolean>;
  /** No error if there is no such file. */
  remove(domainId: string, name: string): Promise<void>;
  /** The names of files that are being written. A process that was killed meanwhile leaves one for good. */
  unfinished(domainId: string): Promise<readonly string[]>;
}

/** A znode is limited to 1 MiB; records are far smaller. */
export const MAX_RECORD_BYTES: number = 64 * 1024;

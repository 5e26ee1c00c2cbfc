/** A file in a backend; `name` is its path relative to the repository, with `/`. */
export interface BackendFile {
  readonly name: string;
  readonly sizeBytes: number;
  /** The size of further copies in other parts of the place. */
  readonly copyBytes?: number;
  /** When it was last changed, by the clock of the place. Undefined if the place does not say it. */
  readonly modifiedMs?: number | undefined;
  /**
   * A FIFO, a socket, a device, or a symlink to something that is not a file. It does not belong to ldm, whatever its
   * name is.
   */
  readonly isForeign?: boolean;
}

/** A file of which only the name is wanted. */
export type ListedName = Pick<BackendFile, 'name' | 'isForeign'>;

/** What is at the place of a repository. Paths are as in `location`. */
export interface Place {
  /** The first part of its path that does not exist. */
  readonly missing: string | undefined;
  /** A file at its path, or at a part of it, where a directory should be. */
  readonly file: string | undefined;
  /** The names in the directory, sorted. */
  readonly names: readonly string[];
  /** Where `missing` points if it is a symlink. */
  readonly target?: string;
  /** The directory that `missing` would be in, if that is known to be empty. */
  readonly emptyParent?: string;
}

/** What a cache must know of a repository. */
export interface CachedRepository {
  readonly repositoryId: string;
  /** The hash that names packs. */
  readonly packHash: 'blake3' | 'sha256';
}

/** What was asked of another machine so far. */
export interface Traffic {
  /** Files that were read, in whole or in part, written, moved, removed or measured, and listings. */
  readonly requests: number;
  /** Bytes of file contents. */
  readonly uploadedBytes: number;
  readonly downloadedBytes: number;
}

/** What a place keeps of files that were replaced or removed. */
export interface OldVersions {
  readonly count: number;
  readonly bytes: number;
}

/** Throws if the next step must not be done, for example because the lock of this process is gone. */
export interface Verify {
  (): Promise<void>;
  /**
   * Says what must be there right before the next step, for a place that can look for it itself, and which calls this right
   * before. Undefined if that is not all there is to verify.
   */
  readonly needs?: (() => Needs | undefined) | undefined;
}

/** What must be there when a file gets its name. */
export interface Needs {
  /** The smallest sizes of files, by name. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Directories that are synced before. */
  readonly settled?: readonly string[] | undefined;
  /** Called when all of that was there. */
  readonly onMet?: (() => void) | undefined;
}

/** A new file that is written piece by piece and does not have its name yet. Ends with `publish` or `discard`. */
export interface StagedFile {
  /** Appends all the bytes. The buffer may be reused as soon as the promise settles. */
  append(bytes: Uint8Array): Promise<void>;
  /** Makes the bytes so far durable, so that no lack of space can fail `publish` later. */
  flush(): Promise<void>;
  /**
   * Gives the file its name. `verify` runs right before, after everything slow. If either fails, the file is discarded.
   * With `isNew`, it fails with the kind `exists` if there is a file of this name: of several processes one succeeds.
   * `after`: as for `Backend.publish`.
   */
  publish(name: string, verify?: Verify, isNew?: boolean, after?: Verify): Promise<void>;
  /** Gives the file up. Ignores errors, since the caller reports why. Does nothing once it is published. */
  discard(): Promise<void>;
}

/** Reads named files. Names are relative paths with `/`. */
export interface ObjectReader {
  /** Lists every file below a directory, at any depth, sorted by name. Fails if a directory is absent or unreadable. */
  list(directory: string): Promise<BackendFile[]>;
  /** The same without sizes. Missing where it would not be faster. */
  listNames?(directory: string): Promise<ListedName[]>;
  /** Returns the size in bytes, or undefined if the file does not exist. */
  sizeOf(name: string): Promise<number | undefined>;
  /** Returns the sizes of those of the files that exist now. */
  sizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Reads the whole file. */
  read(name: string): Promise<Uint8Array>;
  /** Fills `target` from `offset`. Throws a `CorruptDataError` if the file ends earlier. */
  readRange(name: string, offset: number, target: Uint8Array): Promise<void>;
}

/**
 * Writes named files. Other processes see at once what was published, moved or removed. It survives a power cut once
 * `barrier` has returned.
 */
interface ObjectWriter {
  /**
   * Begins a new file. `isReadOften`: later commands will read it, so a cache keeps it. `isContents`: it is a pack with
   * contents of files, which a repository with groups keeps in one of them.
   */
  stage(isReadOften?: boolean, isContents?: boolean): Promise<StagedFile>;
  /**
   * Writes a file, which appears whole or not at all. `verify` runs right before its name appears. A place whose requests
   * take effect in their order may call `after` when it has sent those for the name, and again if they are repeated, and
   * waits for it: what `after` asks for is answered as it is after the name has appeared. It must not throw.
   */
  publish(name: string, bytes: Uint8Array, verify?: Verify, after?: Verify): Promise<void>;
  /** Gives a file another name, and replaces a file that has it. At least one of the two names exists at any moment. */
  move(source: string, target: string): Promise<void>;
  /** Removes a file. Returns false if it did not exist and the place says so. */
  remove(name: string): Promise<boolean>;
  /** Makes durable what was published, moved and removed so far. Once it has failed, every later call fails. */
  barrier(): Promise<void>;
  /** Makes durable what other processes have published, moved or removed in these directories, one after the other. */
  settle(directories: readonly string[]): Promise<void>;
}

/** What will be listed and read soon, in this order: the directories, then the names. What is needed twice is in it twice. */
export interface NextReads {
  readonly names?: readonly string[] | undefined;
  readonly directories?: readonly string[] | undefined;
  /** How many new files will be written at a time. */
  readonly newFiles?: number | undefined;
  /** Whether the place had a server of this program the last time: its own requests may go out before it has said so. */
  readonly isOwnServer?: boolean | undefined;
  /** Instead of `directories`, groups of them. Each group must be listed after the one before it. */
  readonly inTurn?: readonly (readonly string[])[] | undefined;
}

/** Empty files that exclude each other. They need not survive a power cut. */
export interface LockPlace {
  /**
   * Creates a lock. Fails with the kind `exists` if it exists. `next`: what is read as soon as the lock exists. A place whose
   * requests take effect in their order asks for it without a wait in between.
   */
  claim(name: string, next?: NextReads): Promise<void>;
  /** Gives a lock a new heartbeat; returns false if it does not exist. */
  refresh(name: string): Promise<boolean>;
  /** Returns an opaque value that changes with `refresh`, or undefined if the lock does not exist. */
  heartbeatOf(name: string): Promise<string | undefined>;
  /** Removes a lock. Returns false if it did not exist and the place says so. */
  release(name: string): Promise<boolean>;
}

/** What a place is and can do. */
interface Capabilities {
  /** Only for messages. */
  readonly location: string;
  /** The path of the repository if it is a directory of this machine. */
  readonly localDirectory: string | undefined;
  /** How many reads are worth having under way at once: 1 if they do not wait for another machine. */
  readonly readsAtOnce: number;
  /** How many packs of contents are worth publishing at once. Default: one after the other. */
  readonly packsAtOnce?: number | undefined;
  /** Whether the other machine has said that it lets nothing be removed or changed. Known after the first request. */
  readonly isAppendOnly?: boolean | undefined;
  /** Whether the other machine has a server of this program, with requests of its own. Known after the first request. */
  readonly isOwnServer?: boolean | undefined;
  /** Whether the place has shown that it keeps what is removed, as an old version. Known after the first request that writes. */
  readonly keepsRemoved?: boolean | undefined;
  /**
   * Returns what the place keeps of files that were replaced or removed: undefined if it is not known to keep any,
   * `unknown` if it does not say how much.
   */
  oldVersions?(): Promise<OldVersions | 'unknown' | undefined>;
  /** How much later it is at the place, in ms, as its answers have shown. Asks nothing; undefined if it is not known. */
  clockAheadMs?(): number | undefined;
}

/** What a place with parts, such as groups, knows of them. */
interface PlaceParts {
  /** The paths of further directories of this machine that hold parts of the repository. */
  readonly otherDirectories?: readonly string[];
  /** The names of the parts of the place that could not be reached so far. Undefined if the place has no parts. */
  readonly offlineParts?: readonly string[];
  /**
   * Returns the names under which each copy of a pack that can be reached is read, measured and moved by itself. Not
   * there if this place has one copy of everything.
   */
  copiesOf?(name: string): Promise<readonly string[]>;
}

/** What a cache on this machine, and what counts the traffic to another one, can be asked and told. */
interface RemoteAids {
  /** The same place without the cache of this machine, if it has one: to verify what is stored there. */
  readonly uncached?: Backend | undefined;
  /** Undefined for a directory of this machine. */
  readonly traffic?: Traffic | undefined;
  /** Says that what was read of a file was wrong: from now on, no cache of this machine is used for it. */
  distrust?(name: string): void;
  /** Begins to use the cache of this machine, if there is one. */
  useCache?(repository: CachedRepository): void;
  /**
   * Asks for what will be read soon, all at once: that is one wait for another machine instead of many. Does nothing where
   * `claim` has asked already, unless the answers must be `fresh`.
   */
  readAhead?(next: NextReads, isFresh?: boolean): void;
  /** Says that later commands will read a pack of this size again. */
  expectReads?(name: string, sizeBytes: number): void;
}

/**
 * The place of a repository: a store of named files. Every failure is a `BackendError`, whose `kind` says what it means;
 * this layer neither retries nor swallows errors.
 */
export interface Backend extends Capabilities, PlaceParts, RemoteAids, ObjectReader, ObjectWriter, LockPlace {
  /**
   * Returns what is at the place, whether that is a repository or not. Undefined if this kind of place cannot say it.
   */
  examine(): Promise<Place | undefined>;
  /**
   * Creates the place of a new repository, durably. Accepts what exists. Refuses a place where several clients cannot
   * exclude each other, unless `isSingleWriter`. On another machine, `claim` may be called before it has ended.
   */
  prepare(directories: readonly string[], isSingleWriter?: boolean): Promise<void>;
  /** Closes all open files. */
  close(): Promise<void>;
}

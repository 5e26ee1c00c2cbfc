/** A file in a backend; `name` is its path below the repository, with `/`. */
export interface BackendFile {
  readonly name: string;
  readonly sizeBytes: number;
}

/** A new file while it is written. Bytes may be lost in a power cut until `sync` has returned. */
export interface BackendWriter {
  /** Appends all the bytes. The buffer may be reused as soon as the promise settles. */
  append(bytes: Uint8Array): Promise<void>;
  /** Checks that the file is exactly as long as what was appended, and forces it to the disk. Never call it again after a failure. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Named bytes somewhere. Names are relative paths with `/`. Every failure is a `BackendError` with `errno`;
 * nothing is retried and nothing is swallowed here. A name appears or vanishes at once, but both survive a power cut
 * only after `syncDirectory` of its directory.
 */
export interface Backend {
  /** For messages. */
  readonly location: string;
  /** Creates a directory and its parents; an existing one is fine. Its own name is durable after the next `syncDirectory` in it. */
  makeDirectory(name: string): Promise<void>;
  /** Every file below a directory, at any depth, sorted by name. A directory that is absent or unreadable is an error. */
  list(directory: string): Promise<BackendFile[]>;
  /** The size in bytes, or undefined if there is no such file. */
  sizeOf(name: string): Promise<number | undefined>;
  /** The whole file. */
  read(name: string): Promise<Uint8Array>;
  /** Fills `target` from `offset`. A file that ends before that is a `CorruptDataError`. */
  readRange(name: string, offset: number, target: Uint8Array): Promise<void>;
  /** Creates a file that must not exist yet (errno EEXIST otherwise). */
  create(name: string): Promise<BackendWriter>;
  /** Replaces `target` if it exists. */
  rename(source: string, target: string): Promise<void>;
  /** Removes a file; false if there was none. */
  remove(name: string): Promise<boolean>;
  /**
   * Makes the names that appeared in or vanished from a directory durable, and the directory itself if `makeDirectory` made it.
   * After a rename between two directories both are synced, the new one first.
   */
  syncDirectory(directory: string): Promise<void>;
  /** Sets a file's modification time to now (the heartbeat of a lock); false if there is no such file. */
  touch(name: string): Promise<boolean>;
  /** A file's modification time as an opaque value that changes with `touch`, or undefined if there is no such file. */
  heartbeatOf(name: string): Promise<string | undefined>;
  /** Closes what is open. */
  close(): Promise<void>;
}

/** A file in a backend; `name` is its path relative to the repository, with `/`. */
export interface BackendFile {
  readonly name: string;
  readonly sizeBytes: number;
}

/** A new file that is being written. A power cut may lose its bytes until `sync` has returned. */
export interface BackendWriter {
  /** Appends all the bytes. The buffer may be reused as soon as the promise settles. */
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Checks that the file has exactly the appended length, and syncs it to disk. Must not be called again after a
   * failure.
   */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A store of named files. Names are relative paths with `/`. Every failure is a `BackendError` with `errno`; this layer
 * neither retries nor swallows errors. A name appears or disappears immediately, but the change survives a power cut
 * only after `syncDirectory` of its directory.
 */
export interface Backend {
  /** Used in messages. */
  readonly location: string;
  /**
   * Creates a directory and its parents; existing ones are accepted. Its name becomes durable with the next
   * `syncDirectory` of the new directory itself.
   */
  makeDirectory(name: string): Promise<void>;
  /** Lists every file below a directory, at any depth, sorted by name. Fails if a directory is absent or unreadable. */
  list(directory: string): Promise<BackendFile[]>;
  /** Returns the size in bytes, or undefined if the file does not exist. */
  sizeOf(name: string): Promise<number | undefined>;
  /** Reads the whole file. */
  read(name: string): Promise<Uint8Array>;
  /** Fills `target` from `offset`. Throws a `CorruptDataError` if the file ends earlier. */
  readRange(name: string, offset: number, target: Uint8Array): Promise<void>;
  /** Creates a file; fails with errno EEXIST if it exists. */
  create(name: string): Promise<BackendWriter>;
  /** Replaces `target` if it exists. */
  rename(source: string, target: string): Promise<void>;
  /** Removes a file; returns false if it did not exist. */
  remove(name: string): Promise<boolean>;
  /**
   * Makes the additions and removals of names in a directory durable, and the directory itself if `makeDirectory`
   * created it. After a rename between two directories, the caller syncs both, the new one first.
   */
  syncDirectory(directory: string): Promise<void>;
  /**
   * Sets the modification time of a file to now (the heartbeat of a lock); returns false if the file does not exist.
   */
  touch(name: string): Promise<boolean>;
  /**
   * Returns the modification time of a file as an opaque value that changes with `touch`, or undefined if the file does
   * not exist.
   */
  heartbeatOf(name: string): Promise<string | undefined>;
  /** Closes all open files. */
  close(): Promise<void>;
}

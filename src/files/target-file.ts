import { randomBytes } from 'node:crypto';
import { closeSync, ftruncateSync, futimesSync, linkSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import type { TargetError } from '../errors.ts';
import type { ByteString } from '../util/byte-string.ts';
import { fsPath } from '../util/byte-string.ts';
import { dataRuns } from './data-runs.ts';
import { errnoOf, targetError } from './path-failures.ts';
import type { EntryMetadata } from './target-metadata.ts';
import type { TargetPolicy } from './target-policy.ts';
import { createTargetFile, finishTargetFile } from './target-writer.ts';

/** The path at which to create a file. */
export interface FilePlace {
  /** Full path of the file. */
  readonly path: ByteString;
  /** Whether it may replace an existing file. */
  readonly replaces: boolean;
}

/**
 * A file being written at the target. It is written beside its final path and renamed when it is complete, so that the
 * path always holds a whole file, old or new. End with `commit` or `abandon`. All methods throw TargetError, except
 * `abandon`, which ignores errors.
 */
export class TargetFile {
  readonly #place: FilePlace;
  readonly #workPath: ByteString;
  readonly #descriptor: number;
  readonly #isSparse: boolean;
  #sizeBytes = 0;
  #isOpen = true;

  /** `mode`: the final mode; see `createTargetFile`. With `isSparse`, blocks of zeros become holes. */
  constructor(place: FilePlace, mode: number, { isSparse = false }: { readonly isSparse?: boolean } = {}) {
    this.#place = place;
    this.#isSparse = isSparse;
    this.#workPath = temporaryPathBeside(place.path);
    this.#descriptor = createTargetFile(this.#workPath, mode);
  }

  append(bytes: Uint8Array): void {
    const runs = this.#isSparse ? dataRuns(bytes, this.#sizeBytes) : [{ start: 0, end: bytes.length }];
    this.#attempt(() => {
      for (const { start, end } of runs) this.#write(bytes.subarray(start, end), this.#sizeBytes + start);
    });
    this.#sizeBytes += bytes.length;
  }

  #write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length;) {
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, position + done);
    }
  }

  #attempt(write: () => void): void {
    try {
      write();
    } catch (cause) {
      throw targetError({ operation: 'write', path: this.#place.path, cause });
    }
  }

  /**
   * Sets the metadata and gives the file its name. Returns an error for metadata that could not be set, or throws it if
   * `isStrict`. If it throws, call `abandon`.
   */
  commit(
    metadata: EntryMetadata,
    options: { readonly policy: TargetPolicy; readonly isStrict?: boolean },
  ): TargetError | undefined {
    const { path, replaces } = this.#place;
    // A hole at the end of the file exists only through the size.
    if (this.#isSparse) this.#attempt(() => ftruncateSync(this.#descriptor, this.#sizeBytes));
    this.#isOpen = false;
    const failure = finishTargetFile(this.#descriptor, metadata, { path, policy: options.policy });
    if (failure !== undefined && options.isStrict === true) throw failure;
    if (replaces) replaceTarget(this.#workPath, path);
    else placeTarget(this.#workPath, path);
    return failure;
  }

  abandon(): void {
    if (this.#isOpen) closeIfPossible(this.#descriptor);
    this.#isOpen = false;
    removeIfPossible(this.#workPath);
  }
}

/** Writes a whole file at once. Returns an error for metadata that could not be set; see `TargetFile.commit`. */
export function writeTargetFile(
  place: FilePlace,
  bytes: Uint8Array,
  metadata: EntryMetadata,
  options: { readonly policy: TargetPolicy; readonly isStrict?: boolean },
): TargetError | undefined {
  const file = new TargetFile(place, metadata.mode);
  try {
    file.append(bytes);
    return file.commit(metadata, options);
  } catch (error) {
    file.abandon();
    throw error;
  }
}

/**
 * Links a complete file to a new name, which fails if the name exists. Another program may have created it since the
 * last look, or another thread of this restore, on a file system that does not distinguish `A` from `a`.
 */
function placeTarget(source: ByteString, target: ByteString): void {
  try {
    linkSync(fsPath(source), fsPath(target));
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw taken(target);
    placeOverClaim(source, target);
    return;
  }
  removeWorkName(source, target);
}

/** For file systems without hard links: exclusively creates an empty file with the name, then replaces it. */
function placeOverClaim(source: ByteString, target: ByteString): void {
  claimName(target);
  try {
    replaceTarget(source, target);
  } catch (error) {
    removeIfPossible(target);
    throw error;
  }
}

/** The empty file gets the oldest possible time. If a killed restore leaves only that, any other file is newer. */
function claimName(path: ByteString): void {
  try {
    const descriptor = openSync(fsPath(path), 'wx', 0o600);
    try {
      futimesSync(descriptor, 0, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw taken(path);
    throw targetError({ operation: 'create', path, cause });
  }
}

function removeWorkName(source: ByteString, target: ByteString): void {
  try {
    unlinkSync(fsPath(source));
  } catch (cause) {
    throw targetError({ operation: 'remove the temporary file of', path: target, cause });
  }
}

function taken(path: ByteString): TargetError {
  return targetError({ operation: 'write', path, cause: 'another file has taken this name' });
}

/** Replaces an existing file by a finished one. Removes the new file if that fails. */
export function replaceTarget(source: ByteString, target: ByteString): void {
  try {
    renameSync(fsPath(source), fsPath(target));
  } catch (cause) {
    removeIfPossible(source);
    throw targetError({ operation: 'replace', path: target, cause });
  }
}

/** Ignores errors, since an earlier error is reported. The same applies to `removeIfPossible`. */
function closeIfPossible(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // The descriptor is closed even if this fails.
  }
}

function removeIfPossible(path: ByteString): void {
  try {
    unlinkSync(fsPath(path));
  } catch {
    // The permissions or the directory have changed.
  }
}

/** Random once for a thread: a new one for every file would cost 2 us. */
const temporaryPrefix = `.ldm-restore-${randomBytes(6).toString('hex')}`;
let temporaryCount = 0;

export function temporaryPathBeside(path: ByteString): ByteString {
  temporaryCount += 1;
  const name = `${temporaryPrefix}${temporaryCount.toString(36)}`;
  return (path.slice(0, path.lastIndexOf('/') + 1) + name) as ByteString;
}

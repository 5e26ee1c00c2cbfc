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

/** Where a file is to be. */
export interface FilePlace {
  /** Full path of the file. */
  readonly path: ByteString;
  /** Whether it may take the place of what has its name. */
  readonly replaces: boolean;
}

/**
 * A file on its way to the target: written beside its name and given the name when it is whole, so that whatever
 * happens, a name stands for a whole file, the new one or the old one. Ends with `commit` or `abandon`. Everything but
 * `abandon`, which leaves what it cannot remove, throws TargetError.
 */
export class TargetFile {
  readonly #place: FilePlace;
  readonly #workPath: ByteString;
  readonly #descriptor: number;
  readonly #isSparse: boolean;
  #sizeBytes = 0;
  #isOpen = true;

  /** `mode`: what the file will have; see `createTargetFile`. Where `isSparse`, blocks of zeros become holes. */
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
   * Gives it its metadata and its name. Metadata that cannot be set is returned, or thrown where `isStrict`; to be
   * abandoned if anything is thrown.
   */
  commit(
    metadata: EntryMetadata,
    options: { readonly policy: TargetPolicy; readonly isStrict?: boolean },
  ): TargetError | undefined {
    const { path, replaces } = this.#place;
    // A hole at the end is as long as the size says.
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

/** All of a file whose bytes are at hand. Returns metadata that could not be set; see `TargetFile.commit`. */
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
 * Gives a finished file a name that nothing has, in one step: another program may have taken it since it was looked at,
 * and where a file system takes `A` for `a`, a file of this very restore, that another thread made just now.
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

/** For a file system without hard links: an empty file of ours, made only where nothing has the name, is replaced. */
function placeOverClaim(source: ByteString, target: ByteString): void {
  claimName(target);
  try {
    replaceTarget(source, target);
  } catch (error) {
    removeIfPossible(target);
    throw error;
  }
}

/** The empty file is as old as can be: should it be all that a killed restore leaves, any other file is newer. */
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

/** Puts a finished file in the place of what has the name. Where that fails the new file goes. */
export function replaceTarget(source: ByteString, target: ByteString): void {
  try {
    renameSync(fsPath(source), fsPath(target));
  } catch (cause) {
    removeIfPossible(source);
    throw targetError({ operation: 'replace', path: target, cause });
  }
}

/** Where it is not possible, what went wrong before is what to tell; so too for the next. */
function closeIfPossible(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // Closed all the same.
  }
}

function removeIfPossible(path: ByteString): void {
  try {
    unlinkSync(fsPath(path));
  } catch {
    // Somebody changed the directory's rights, or the directory.
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

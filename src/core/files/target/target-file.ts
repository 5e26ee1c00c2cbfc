import { closeSync, constants, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { TargetError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { NO_HOLES } from '../../format/tree/tree-entry.ts';
import { dataRuns, dataRunsBetween } from '../source/data-runs.ts';
import { identityOf } from '../paths/held-directories.ts';
import { targetError } from '../paths/path-failures.ts';
import { setStoringFlags } from './target-attributes.ts';
import type { EntryMetadata } from './target-metadata.ts';
import { beside, placeTarget, removeIfPossible, replaceTarget, temporaryNameBeside } from './target-names.ts';
import type { FilePlace } from './target-names.ts';
import { patchTargetFile } from './target-patch.ts';
import type { FilePatch } from './target-patch.ts';
import type { TargetPolicy } from './target-policy.ts';
import { createTargetFile, finishTargetFile } from './target-writer.ts';

/** Does not wait for a reader if something has put a FIFO in the place of the file. */
const REOPEN_FLAGS = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A file of which the bytes are in memory. */
export interface FileToWrite extends FilePlace, EntryMetadata {
  readonly sizeBytes: number;
}

/**
 * A file being written at the target. It is written beside its final path and renamed when it is complete, so that the
 * path always holds a whole file, old or new. End with `commit` or `abandon`. All methods throw TargetError, except
 * `abandon`, which ignores errors.
 */
export class TargetFile {
  readonly #place: FilePlace;
  readonly #workName: string;
  readonly #isSparse: boolean;
  readonly #holes: Float64Array;
  /** Undefined while the file is closed. */
  #descriptor: number | undefined;
  /** Device and inode, recorded by `rest`. */
  #identity: string | undefined;
  /** Why `rest` could not close it: its bytes may be lost. */
  #closeFailure: unknown;
  #sizeBytes = 0;

  /**
   * `mode`: the final mode; see `createTargetFile`. `holes`: see `EntryAttributes`. With `isSparse`, all blocks of zeros
   * become holes.
   */
  constructor(
    place: FilePlace,
    mode: number,
    { isSparse = false, holes = NO_HOLES }: { readonly isSparse?: boolean; readonly holes?: Float64Array } = {},
  ) {
    this.#place = place;
    this.#isSparse = isSparse;
    this.#holes = holes;
    this.#workName = temporaryNameBeside(place.path);
    this.#descriptor = createTargetFile(this.#workPath, mode);
  }

  get #workPath(): ByteString {
    return beside(this.#place.path, this.#workName);
  }

  /** Call it before the first byte is written. */
  prepare(inodeFlags: number, policy: TargetPolicy): void {
    setStoringFlags(this.#descriptor!, inodeFlags, policy.attributes);
  }

  append(bytes: Uint8Array): void {
    this.writeAt(this.#sizeBytes, bytes);
  }

  /** Parts may be written in any order. The file ends where the last of them ends. */
  writeAt(position: number, bytes: Uint8Array): void {
    const runs = this.#isSparse ? dataRuns(bytes, position) : dataRunsBetween(this.#holes, bytes, position);
    this.#attempt((descriptor) => {
      for (const { start, end } of runs) writeFully(descriptor, bytes.subarray(start, end), position + start);
    });
    this.#sizeBytes = Math.max(this.#sizeBytes, position + bytes.length);
  }

  #attempt(write: (descriptor: number) => void): void {
    this.#descriptor ??= this.#reopen();
    try {
      write(this.#descriptor);
    } catch (cause) {
      throw targetError({ operation: 'write', path: this.#place.path, cause });
    }
  }

  /**
   * Closes the file until it is used again, so that more files can be pending than descriptors are available. An error
   * is thrown by the next use, since the caller is busy with another file.
   */
  rest(): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#identity ??= identityOf(descriptor);
    this.#descriptor = undefined;
    try {
      closeSync(descriptor);
    } catch (cause) {
      this.#closeFailure = cause;
    }
  }

  /** Anyone who can write to the directory could have replaced the file. */
  #reopen(access: number = constants.O_WRONLY): number {
    if (this.#closeFailure !== undefined)
      throw targetError({ operation: 'close', path: this.#place.path, cause: this.#closeFailure });
    const { path } = this.#place;
    let descriptor: number;
    try {
      descriptor = openSync(fsPath(this.#workPath), access | REOPEN_FLAGS);
    } catch (cause) {
      throw targetError({ operation: 'write', path, cause });
    }
    if (identityOf(descriptor) === this.#identity) return descriptor;
    closeSync(descriptor);
    throw targetError({ operation: 'write', path, cause: 'another file has taken the place of its temporary file' });
  }

  /**
   * Sets the metadata and gives the file its name. Returns an error for metadata that could not be set, or throws it if
   * `isStrict`. If it throws, call `abandon`.
   */
  commit(
    metadata: EntryMetadata,
    options: { readonly policy: TargetPolicy; readonly isStrict?: boolean },
  ): TargetError | undefined {
    // A hole at the end of the file exists only through the size.
    const hasHoles = this.#isSparse || this.#holes.length > 0;
    this.#attempt((descriptor) => hasHoles && ftruncateSync(descriptor, this.#sizeBytes));
    const { path, replaces } = this.#place;
    const descriptor = this.#descriptor!;
    this.#descriptor = undefined;
    const failure = finishTargetFile(descriptor, metadata, { path, policy: options.policy });
    if (failure !== undefined && options.isStrict === true) throw failure;
    if (replaces) replaceTarget(this.#workPath, path);
    else placeTarget(this.#workPath, path);
    return failure;
  }

  /**
   * Copies what was written into the existing file, which keeps everything else, instead of replacing it. Returns and
   * throws like `commit`.
   */
  commitInto(
    patch: FilePatch,
    metadata: EntryMetadata & { readonly sizeBytes: number },
    policy: TargetPolicy,
  ): TargetError | undefined {
    let source: number | undefined;
    try {
      this.rest();
      source = this.#reopen(constants.O_RDONLY);
      const { sizeBytes } = metadata;
      return patchTargetFile(source, patch, { path: this.#place.path, sizeBytes, metadata, policy });
    } finally {
      if (source !== undefined) closeIfPossible(source);
      this.abandon();
    }
  }

  abandon(): void {
    if (this.#descriptor !== undefined) closeIfPossible(this.#descriptor);
    this.#descriptor = undefined;
    removeIfPossible(() => this.#workPath);
  }
}

function writeFully(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
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
    file.prepare(metadata.inodeFlags, options.policy);
    file.append(bytes);
    return file.commit(metadata, options);
  } catch (error) {
    file.abandon();
    throw error;
  }
}

/** Ignores errors, since an earlier error is reported. */
function closeIfPossible(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // The descriptor is closed even if this fails.
  }
}

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import type { TargetError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { fileStateOf } from './hard-link.ts';
import { targetError } from '../paths/path-failures.ts';
import { hasOtherXattrs, removeOtherXattrs } from './target-attributes.ts';
import { hasOtherMode } from './target-metadata.ts';
import type { EntryMetadata } from './target-metadata.ts';
import type { TargetPolicy } from './target-policy.ts';
import { finishTargetFile } from './target-writer.ts';

/** A part of a file: from `start` (inclusive) to `end` (exclusive), in bytes. */
interface FileRange {
  readonly start: number;
  readonly end: number;
}

/** What to change in an existing file so that it has the content of an entry. */
export interface FilePatch {
  /** The file that was compared; see `fileStateOf`. */
  readonly state: string;
  readonly ranges: readonly FileRange[];
}

interface PatchedFile {
  readonly path: ByteString;
  readonly sizeBytes: number;
  readonly metadata: EntryMetadata;
  readonly policy: TargetPolicy;
}

const PATCH_FLAGS = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const COPY_BYTES = 1 << 20;

/** Opens an existing file to change it. Throws the system error. */
export function openForPatch(path: ByteString): number {
  return openSync(fsPath(path), PATCH_FLAGS);
}

/**
 * Returns whether only those can access an open file who may access the one in the snapshot. Otherwise it must be
 * replaced: content in it would be readable before it has its metadata, and for programs that have it open also later.
 */
export function isPatchable(descriptor: number, entry: EntryMetadata, policy: TargetPolicy): boolean {
  const current = fstatSync(descriptor);
  // Without the right to set owners, a new file would be ours.
  if (!policy.setsOwners && current.uid !== process.geteuid?.()) return false;
  // An ACL matters even if attributes are not to be set.
  const attributes = { ...policy.attributes, sets: true, removesOthers: true };
  return !hasOtherMode(descriptor, current, entry, policy) && !hasOtherXattrs(descriptor, entry, attributes);
}

/**
 * Copies the ranges from another file, which has them at the same positions, and sets size and metadata. The content is
 * on the disk before the time is right, so that a file which is not complete never looks like the one in the snapshot.
 * Meanwhile its time is the oldest one or, right after a write, the current one. Throws TargetError; returns an error
 * for metadata that could not be set.
 */
export function patchTargetFile(
  source: number,
  { state, ranges }: FilePatch,
  { path, sizeBytes, metadata, policy }: PatchedFile,
): TargetError | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openForPatch(path);
    if (fileStateOf(descriptor) !== state) throw new Error('it has changed since it was compared');
    // Otherwise only its metadata differs.
    if (ranges.length > 0 || fstatSync(descriptor).size !== sizeBytes) {
      const mark = unfinishedMark(descriptor, metadata);
      mark();
      fsyncSync(descriptor);
      const buffer = Buffer.allocUnsafe(COPY_BYTES);
      for (const range of ranges) copyRange(source, descriptor, range, { buffer, mark });
      ftruncateSync(descriptor, sizeBytes);
      mark();
      fsyncSync(descriptor);
    }
  } catch (cause) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw targetError({ operation: 'write', path, cause });
  }
  removeOtherXattrs(descriptor, metadata, policy.attributes);
  return finishTargetFile(descriptor, metadata, { path, policy });
}

/** Returns a function that sets a time which no mode takes for that of the finished file: another and not a newer one. */
function unfinishedMark(descriptor: number, { mtimeSeconds }: EntryMetadata): () => void {
  const time = new Date(Math.min(0, mtimeSeconds - 1) * 1000);
  return () => futimesSync(descriptor, time, time);
}

interface CopyTools {
  readonly buffer: Buffer;
  readonly mark: () => void;
}

function copyRange(source: number, target: number, { start, end }: FileRange, { buffer, mark }: CopyTools): void {
  for (let position = start; position < end;) {
    const length = readSync(source, buffer, 0, Math.min(buffer.length, end - position), position);
    if (length === 0) throw new Error('its temporary file is too short');
    for (let done = 0; done < length;) done += writeSync(target, buffer, done, length - done, position + done);
    // Each write changes the time.
    mark();
    position += length;
  }
}

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { RunningDigest } from '../../core/crypto/blake3.ts';

const PIECE_BYTES = 1024 * 1024;
const DRAFT = 'draft-';
/** Drafts of processes that were killed are removed after a day. */
const DRAFT_AGE_MS = 24 * 60 * 60 * 1000;
/** See https://bford.info/cachedir/. */
const TAG_NAME = 'CACHEDIR.TAG';
const TAG =
  'Signature: 8a477f597d28d172789f06886806bc55\n# Files of ldm repositories on other machines. Can be deleted.\n';

/** Marks the directory for backup programs. */
export function writeTag(directory: string): void {
  const path = `${directory}/${TAG_NAME}`;
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) writeFileSync(path, TAG, { mode: 0o600 });
}

/** Returns the path of a file that is not complete yet. */
export function newDraft(directory: string): string {
  return `${directory}/${DRAFT}${randomBytes(8).toString('hex')}`;
}

export function removeOldDrafts(directory: string): void {
  for (const file of readdirSync(directory).filter((each) => each.startsWith(DRAFT))) {
    const path = `${directory}/${file}`;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats !== undefined && nowMs() - stats.mtimeMs > DRAFT_AGE_MS) rmSync(path, { force: true });
  }
}

/** The files that were not used for the longest time are removed first. */
export function markUsed(path: string): void {
  utimesSync(path, nowMs() / 1000, nowMs() / 1000);
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

export function writeFully(descriptor: number, bytes: Uint8Array): true {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
  return true;
}

/** Returns how many bytes there were. */
export function readFully(descriptor: number, offset: number, target: Uint8Array): number {
  let done = 0;
  while (done < target.length) {
    const readBytes = readSync(descriptor, target, done, target.length - done, offset + done);
    if (readBytes === 0) break;
    done += readBytes;
  }
  return done;
}

/** Used again, because most files are small. */
let piece: Buffer | undefined;

export function digestOfFile(path: string, digest: RunningDigest): string {
  const descriptor = openSync(path, 'r');
  try {
    piece ??= Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (let offset = 0; ;) {
      const readBytes = readFully(descriptor, offset, piece);
      digest.update(piece.subarray(0, readBytes));
      offset += readBytes;
      if (readBytes < piece.length) return digest.end();
    }
  } finally {
    closeSync(descriptor);
  }
}

import type { BigIntStats } from 'node:fs';
import type { TargetError } from '../../errors.ts';
import { deviceMajorOf, deviceMinorOf } from '../../files/device-number.ts';
import { TargetFile } from '../../files/target-file.ts';
import type { FilePlace } from '../../files/target-file.ts';
import type { TargetPolicy } from '../../files/target-policy.ts';
import { readTargetLink, readTargetStats } from '../../files/target-writer.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { copyBytes } from '../../util/copy-bytes.ts';
import type { Pacer } from '../context.ts';

export type OverwriteMode = 'never' | 'if-changed' | 'if-newer' | 'always';

/** What is to become of a file, given what has its name already; `blocked` where a directory is in its place. */
export type FileDecision = 'create' | 'replace' | 'unchanged' | 'keep' | 'refuse' | 'blocked';

/** The chunks of a file, one after the other. */
export interface ChunksOfFile {
  readonly count: number;
  readonly sizeBytes: number;
  /** Shows the bytes of the next one to `action`, only there and then. */
  readonly next: (action: (bytes: Uint8Array) => void) => Promise<void> | undefined;
}

/**
 * Decides about a file. Same size and time counts as the same file; what differs stays unless overwriting was asked
 * for, and a directory is never replaced by a file. Throws TargetError where that cannot be told.
 */
export function decide(path: ByteString, entry: TreeEntry, mode: OverwriteMode): FileDecision {
  const existing = readTargetStats(path);
  if (existing === undefined) return 'create';
  if (existing.isDirectory()) return 'blocked';
  const isSame = entry.type === 'file' ? isSameFile(existing, entry) : isSameOther(existing, path, entry);
  if (mode === 'always') return 'replace';
  if (isSame) return 'unchanged';
  if (mode === 'if-changed') return 'replace';
  if (mode === 'if-newer') return mtimeOf(entry) > existing.mtimeNs ? 'replace' : 'keep';
  return 'refuse';
}

function isSameFile(existing: BigIntStats, entry: TreeEntry): boolean {
  return existing.isFile() && existing.size === BigInt(entry.sizeBytes) && existing.mtimeNs === mtimeOf(entry);
}

/** Symlinks and special files have no content of their own: what they are decides. */
function isSameOther(existing: BigIntStats, path: ByteString, entry: TreeEntry): boolean {
  if (entry.type === 'symlink') return existing.isSymbolicLink() && readTargetLink(path) === entry.linkTarget;
  if (entry.type === 'fifo') return existing.isFIFO();
  const isSameKind = entry.type === 'block-device' ? existing.isBlockDevice() : existing.isCharacterDevice();
  const isSameMajor = deviceMajorOf(existing.rdev) === entry.deviceMajor;
  return isSameKind && isSameMajor && deviceMinorOf(existing.rdev) === entry.deviceMinor;
}

function mtimeOf(entry: TreeEntry): bigint {
  return BigInt(entry.mtimeSeconds) * 1_000_000_000n + BigInt(entry.mtimeNanoseconds);
}

/** Writes a file chunk by chunk. One that fails half way is removed. Returns metadata that could not be set. */
export async function writeFile(
  place: FilePlace,
  entry: TreeEntry,
  chunks: ChunksOfFile,
  { policy, pacer, sparse }: { readonly policy: TargetPolicy; readonly pacer: Pacer; readonly sparse: boolean },
): Promise<TargetError | undefined> {
  const file = new TargetFile(place, entry.mode, { isSparse: sparse });
  try {
    for (let index = 0; index < chunks.count; index += 1) {
      const reading = chunks.next((bytes) => file.append(bytes));
      if (reading !== undefined) await reading;
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    return file.commit(entry, { policy });
  } catch (error) {
    file.abandon();
    throw error;
  }
}

/** Copies all bytes of a file. */
export async function copyChunks(target: Buffer, { count, next }: ChunksOfFile): Promise<void> {
  let offset = 0;
  for (let index = 0; index < count; index += 1) {
    const reading = next((bytes) => {
      copyBytes(target, bytes, offset);
      offset += bytes.length;
    });
    if (reading !== undefined) await reading;
  }
}

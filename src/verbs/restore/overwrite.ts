import type { BigIntStats } from 'node:fs';
import { deviceMajorOf, deviceMinorOf } from '../../core/files/native/device-number.ts';
import { readTargetLink, readTargetStats } from '../../core/files/target/target-writer.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

export type OverwriteMode = 'never' | 'if-changed' | 'if-newer' | 'always';

/** How to restore a file, depending on what exists at its path. `blocked`: a directory is there. */
export type FileDecision = 'create' | 'replace' | 'unchanged' | 'keep' | 'refuse' | 'blocked';

/**
 * Called with the metadata of something that is as the entry says, if its other metadata may be set. Returns whether to
 * replace it for that.
 */
type OnSame = (existing: BigIntStats) => boolean;

/**
 * Decides how to restore a file. An existing file with the same size and time counts as the same. A file that differs
 * is replaced only if the mode allows it; a directory is never replaced. Throws TargetError if the existing file cannot
 * be examined.
 */
export function decide(path: ByteString, entry: TreeEntry, mode: OverwriteMode, onSame?: OnSame): FileDecision {
  const existing = readTargetStats(path);
  if (existing === undefined) return 'create';
  if (existing.isDirectory()) return 'blocked';
  const isSame = entry.type === 'file' ? isSameFile(existing, entry) : isSameOther(existing, path, entry);
  if (mode === 'always') return 'replace';
  if (isSame) return mode === 'if-changed' && onSame?.(existing) === true ? 'replace' : 'unchanged';
  if (mode === 'if-changed') return 'replace';
  if (mode === 'if-newer') return mtimeOf(entry) > existing.mtimeNs ? 'replace' : 'keep';
  return 'refuse';
}

function isSameFile(existing: BigIntStats, entry: TreeEntry): boolean {
  return existing.isFile() && existing.size === BigInt(entry.sizeBytes) && existing.mtimeNs === mtimeOf(entry);
}

/** Symlinks and special files are compared by kind, link target and device number, since they have no content. */
function isSameOther(existing: BigIntStats, path: ByteString, entry: TreeEntry): boolean {
  if (entry.type === 'symlink') return existing.isSymbolicLink() && readTargetLink(path) === entry.linkTarget;
  if (entry.type === 'fifo') return existing.isFIFO();
  const isSameKind = entry.type === 'block-device' ? existing.isBlockDevice() : existing.isCharacterDevice();
  const isSameMajor = deviceMajorOf(existing.rdev) === entry.deviceMajor;
  return isSameKind && isSameMajor && deviceMinorOf(existing.rdev) === entry.deviceMinor;
}

/** Returns the modification time in nanoseconds since 1970. */
export function mtimeOf(entry: TreeEntry): bigint {
  return BigInt(entry.mtimeSeconds) * 1_000_000_000n + BigInt(entry.mtimeNanoseconds);
}

import { closeSync, renameSync, rmSync, writeSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { deviceMajorOf, deviceMinorOf } from '../../files/device-number.ts';
import { targetError } from '../../files/path-failures.ts';
import { createTargetFile, finishTargetFile, readTargetLink, readTargetStats } from '../../files/target-writer.ts';
import { TargetError } from '../../errors.ts';
import type { TargetPolicy } from '../../files/target-policy.ts';
import type { TreeEntry } from '../../format/tree.ts';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { Pacer } from '../context.ts';

export type OverwriteMode = 'never' | 'if-changed' | 'if-newer' | 'always';

/** What is to become of a file, given what has its name already. */
export type FileDecision = 'create' | 'replace' | 'unchanged' | 'keep' | 'refuse';

export interface FileTarget {
  /** Full path of the file. */
  readonly path: ByteString;
  readonly policy: TargetPolicy;
  readonly replaces: boolean;
}

/**
 * Decides about a file. Same size and time counts as the same file; what differs stays unless overwriting was asked
 * for, and a directory is never replaced by a file. Throws TargetError where that cannot be told.
 */
export function decide(path: ByteString, entry: TreeEntry, mode: OverwriteMode): FileDecision {
  const existing = readTargetStats(path);
  if (existing === undefined) return 'create';
  if (existing.isDirectory()) return 'refuse';
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

/**
 * Writes a file's chunks and then its metadata, beside its name, and renames it: whatever happens, a name stands for a
 * whole file, the new one or the old one. One that fails half way is removed. Returns metadata that could not be set.
 */
export async function writeFile(
  target: FileTarget,
  entry: TreeEntry,
  chunks: { readonly count: number; readonly next: () => Uint8Array | Promise<Uint8Array> },
  pacer: Pacer,
): Promise<TargetError | undefined> {
  const { path, policy, replaces } = target;
  const workPath = temporaryPathBeside(path);
  const descriptor = createTargetFile(workPath, entry.mode);
  let isOpen = true;
  try {
    for (let index = 0; index < chunks.count; index += 1) {
      const read = chunks.next();
      writeAll(descriptor, read instanceof Promise ? await read : read, path);
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    isOpen = false;
    const failure = finishTargetFile(descriptor, entry, { path: workPath, policy });
    if (!replaces) assertAbsent(path);
    replaceTarget(workPath, path);
    return failure;
  } catch (error) {
    if (isOpen) closeSync(descriptor);
    rmSync(fsPath(workPath), { force: true });
    throw error;
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, path: ByteString): void {
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done, bytes.length - done);
  } catch (cause) {
    throw targetError({ operation: 'write', path, cause });
  }
}

/**
 * Another program may have taken the name since it was looked at; and where a file system takes `A` for `a`, the other
 * of the two has it, also in a directory that this restore made.
 */
function assertAbsent(path: ByteString): void {
  if (readTargetStats(path) === undefined) return;
  throw targetError({ operation: 'write', path, cause: 'another file has this name meanwhile' });
}

/** Puts a finished file in the place of what has the name. Where that fails the new file goes. */
export function replaceTarget(source: ByteString, target: ByteString): void {
  try {
    renameSync(fsPath(source), fsPath(target));
  } catch (cause) {
    rmSync(fsPath(source), { force: true });
    throw targetError({ operation: 'replace', path: target, cause });
  }
}

/** Random once for a process: a new one for every file would cost 2 us. */
const temporaryPrefix = `.ldm-restore-${randomBytes(6).toString('hex')}`;
let temporaryCount = 0;

export function temporaryPathBeside(path: ByteString): ByteString {
  temporaryCount += 1;
  const name = `${temporaryPrefix}${temporaryCount.toString(36)}`;
  return (path.slice(0, path.lastIndexOf('/') + 1) + name) as ByteString;
}

import { closeSync } from 'node:fs';
import { SourceError, UsageError } from '../../errors.ts';
import type { EntryType } from '../../format/tree/tree-entry.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromText, bytesOf } from '../../util/byte-string.ts';
import { nativeCalls } from '../native/native.ts';
import { STATX_CURRENT_DIRECTORY, isMarkedNoDump } from '../native/statx.ts';
import { openSource } from './source-files.ts';

/** FS_NODUMP_FL of linux/fs.h. */
const NO_DUMP = 0x40;
/** "false" means that a program must not save the file, "true" that it may: freedesktop.org, CommonExtendedAttributes. */
const ROBOTS_ATTRIBUTE = 'user.xdg.robots.backup';
const ROBOTS_OPT_OUT = 'false';

/** An extended attribute that marks what it belongs to. */
export interface XattrMark {
  readonly name: ByteString;
  /** Undefined if any value is a mark. */
  readonly value: ByteString | undefined;
}

/**
 * Parses `NAME` or `NAME=VALUE`. Without a value, any is meant, except that `user.xdg.robots.backup` means its value
 * "false". Throws UsageError.
 */
export function parseXattrMark(text: string): XattrMark {
  const [name = '', ...rest] = text.split('=');
  if (!/^[^.\0]+\.[^\0]+$/.test(name)) {
    throw new UsageError(`${JSON.stringify(text)} does not begin with the name of an extended attribute`, {
      hint: 'Give a name with its namespace, such as user.nobackup, or a name and a value: user.backup=no.',
    });
  }
  const isValueGiven = rest.length > 0;
  const value = isValueGiven ? rest.join('=') : name === ROBOTS_ATTRIBUTE ? ROBOTS_OPT_OUT : undefined;
  return { name: byteStringFromText(name), value: value === undefined ? undefined : byteStringFromText(value) };
}

/** Returns whether the file at the path, or the symlink itself, has the attribute. One that cannot be read counts as absent. */
export function hasXattrMark({ name, value }: XattrMark, path: ByteString): boolean {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined) return false;
  // A longer value does not fit, which is an error of the call (ERANGE). An empty buffer asks only for the length.
  const found = Buffer.alloc(value === undefined ? 0 : value.length + 1);
  const length = calls.get(path, name, found);
  if (value === undefined) return length >= 0;
  return length === value.length && found.subarray(0, length).equals(bytesOf(value));
}

/** Returns whether the file at the path has the flag of `chattr +d`. Where that cannot be read, it counts as absent. */
export function hasNoDumpFlag(path: ByteString, type: EntryType): boolean {
  const isMarked = isMarkedNoDump(STATX_CURRENT_DIRECTORY, path);
  if (isMarked !== undefined) return isMarked;
  // This file system tells only for open files, if at all.
  if (type !== 'file' && type !== 'directory') return false;
  const calls = nativeCalls()?.attributes;
  if (calls === undefined) return false;
  let descriptor: number | undefined;
  try {
    descriptor = openSource(path);
    const flags = calls.flags(descriptor);
    return flags >= 0 && (flags & NO_DUMP) !== 0;
  } catch (error) {
    if (error instanceof SourceError) return false;
    throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

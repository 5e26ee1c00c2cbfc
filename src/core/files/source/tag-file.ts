import { closeSync, readSync } from 'node:fs';
import { SourceError, UsageError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromText, bytesOf, joinPath } from '../../util/byte-string.ts';
import { errnoOf } from '../paths/path-failures.ts';
import { openSource } from './source-files.ts';

/** A file that marks the directory that it is in. */
export interface TagFile {
  readonly name: ByteString;
  /** The file must begin with this; empty if it only has to exist. */
  readonly header: ByteString;
}

/** The mark of a cache: https://bford.info/cachedir/ */
export const CACHE_TAG: TagFile = {
  name: 'CACHEDIR.TAG' as ByteString,
  header: 'Signature: 8a477f597d28d172789f06886806bc55' as ByteString,
};

/** Parses `NAME` or `NAME:HEADER`. Throws UsageError. */
export function parseTagFile(text: string): TagFile {
  const [name = '', ...rest] = text.split(':');
  if (name === '' || name.includes('/')) {
    throw new UsageError(`${JSON.stringify(text)} does not begin with the name of a file`, {
      hint: 'Give a name without a slash, such as .nobackup, or a name, a colon and the start of the file.',
    });
  }
  return { name: byteStringFromText(name), header: byteStringFromText(rest.join(':')) };
}

/** Returns whether a tag file that was listed in a directory has its header. One that cannot be read has not. */
export function hasTagHeader({ name, header }: TagFile, directory: ByteString): boolean {
  if (header === '') return true;
  let descriptor: number | undefined;
  try {
    descriptor = openSource(joinPath(directory, name));
    const found = Buffer.alloc(header.length);
    const length = readSync(descriptor, found, 0, found.length, 0);
    return length === found.length && found.equals(bytesOf(header));
  } catch (error) {
    if (error instanceof SourceError || errnoOf(error) !== undefined) return false;
    throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

import { lstatSync, readdirSync, statSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import type FastGlob from 'fast-glob';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromText, fsPath, isDamagedText, isUtf8, textOf } from '../../util/byte-string.ts';

type FileSystemAdapter = Required<NonNullable<FastGlob.Options['fs']>>;

const OPTIONS: FastGlob.Options = {
  dot: true,
  onlyFiles: false,
  followSymbolicLinks: false,
  unique: true,
  // As in a shell, a directory that cannot be listed has no matches.
  suppressErrors: true,
};

/** Expands patterns. Created at most once, because fast-glob is loaded only if a pattern needs it. */
export interface GlobExpander {
  isPattern(text: ByteString): boolean;
  /** Returns the matches below `directory`, in the form of the pattern: relative or absolute. */
  expand(pattern: ByteString, directory: ByteString): ByteString[];
}

/** Returns whether the text has any character that could make it a pattern. Does not load fast-glob. */
export function mayBePattern(text: ByteString): boolean {
  return /[*?[\]{}()!+@\\]/.test(text);
}

export async function loadGlobExpander(): Promise<GlobExpander> {
  const { default: fastGlob } = await import('fast-glob');
  return {
    isPattern: (text) => fastGlob.isDynamicPattern(text) || text.includes('\\'),
    expand: (pattern, directory) => expand(fastGlob, pattern, directory),
  };
}

/**
 * fast-glob handles names as text, which damages names that are not UTF-8. If it met such a name, or the pattern is
 * one, the search is repeated with strings of bytes. In that search `?` matches one byte, so valid names come from the
 * first.
 */
function expand(fastGlob: typeof FastGlob, pattern: ByteString, directory: ByteString): ByteString[] {
  if (!isUtf8(pattern) || !isUtf8(directory)) return expandBytes(fastGlob, pattern, directory);
  let isAnyDamaged = false;
  const matches = fastGlob
    .sync(textOf(pattern), { ...OPTIONS, cwd: textOf(directory), fs: watchedNames(() => (isAnyDamaged = true)) })
    .filter((match) => !isDamagedText(match))
    .map(byteStringFromText);
  if (!isAnyDamaged) return matches;
  return [...matches, ...expandBytes(fastGlob, pattern, directory).filter((match) => !isUtf8(match))];
}

function expandBytes(fastGlob: typeof FastGlob, pattern: ByteString, directory: ByteString): ByteString[] {
  return fastGlob.sync(pattern, { ...OPTIONS, cwd: directory, fs: BYTE_NAMES }) as ByteString[];
}

/** The usual file system, with a callback for each name that is not valid UTF-8. */
function watchedNames(onDamagedName: () => void): Partial<FileSystemAdapter> {
  const list = (path: string): Dirent[] => {
    const entries = readdirSync(path, { withFileTypes: true });
    if (entries.some((entry) => isDamagedText(entry.name))) onDamagedName();
    return entries;
  };
  return { readdirSync: list as unknown as FileSystemAdapter['readdirSync'] };
}

/** The file system with strings of bytes as names. */
const BYTE_NAMES: Partial<FileSystemAdapter> = {
  lstatSync: ((path: ByteString): Stats => lstatSync(fsPath(path))) as FileSystemAdapter['lstatSync'],
  statSync: ((path: ByteString): Stats => statSync(fsPath(path))) as FileSystemAdapter['statSync'],
  readdirSync: ((path: ByteString): Dirent[] =>
    readdirSync(fsPath(path), {
      withFileTypes: true,
      encoding: 'latin1',
    })) as unknown as FileSystemAdapter['readdirSync'],
};

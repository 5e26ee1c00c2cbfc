import { readFileSync, readlinkSync } from 'node:fs';
import { isAbsolute, posix } from 'node:path';
import { UsageError } from '../errors.ts';
import type { ByteString } from '../util/byte-string.ts';
import { byteStringFromText, joinPath, textOf } from '../util/byte-string.ts';

/** Node replaces bytes that are not UTF-8 by this character. */
const REPLACEMENT = '\ufffd';

/** Returns whether bytes were lost when a system string was decoded. */
export function isDamagedText(text: string): boolean {
  return text.includes(REPLACEMENT);
}

/** The arguments of this process as bytes, including Node's own; `undefined` if the system does not provide them. */
export function rawArguments(): ByteString[] | undefined {
  try {
    return readFileSync('/proc/self/cmdline', 'latin1').replace(/\0$/, '').split('\0') as ByteString[];
  } catch {
    return undefined;
  }
}

/**
 * Returns the bytes of texts from the command line. A damaged text is looked up among the `raw` arguments that look the
 * same; if there are several, they are assigned in order. The value of an option may be in the same argument:
 * `--target=x`, `-tx`.
 * @throws UsageError if a text could be a different argument too, or is none of them: names are never guessed
 */
export function recoverBytes(
  texts: readonly string[],
  raw: readonly ByteString[] | undefined = texts.some(isDamagedText) ? rawArguments() : undefined,
): ByteString[] {
  const words = (raw ?? []).flatMap(wordsOf);
  const takenCounts = new Map<string, number>();
  return texts.map((text) => {
    if (!isDamagedText(text)) return byteStringFromText(text);
    const alike = words.filter((word) => textOf(word) === text);
    const index = takenCounts.get(text) ?? 0;
    takenCounts.set(text, index + 1);
    if (new Set(alike).size === 1) return alike[0]!;
    if (alike.length === texts.filter((other) => other === text).length) return alike[index]!;
    throw notRecovered(text);
  });
}

function notRecovered(text: string): UsageError {
  return new UsageError(
    `cannot tell which name ${text} stands for: it is not UTF-8, or several names are displayed like this`,
    {
      hint: 'Rename it, name the directory that contains it, or change to that directory.',
    },
  );
}

function wordsOf(argument: ByteString): ByteString[] {
  if (!argument.startsWith('-')) return [argument];
  return [argument, argument.replace(/^--[^=]+=/, ''), argument.slice(2)] as ByteString[];
}

/** Returns the bytes of a path from the command line, absolute and without `.` and `..`. Throws like `recoverBytes`. */
export function absoluteBytes(path: string): ByteString {
  const [bytes] = recoverBytes([path]);
  const absolute = isAbsolute(path) ? bytes! : joinPath(directoryBytes(process.cwd()), bytes!);
  return posix.normalize(absolute).replace(/(.)\/$/, '$1') as ByteString;
}

/** Returns the bytes of a directory. If its text is damaged, it must be the current directory. */
export function directoryBytes(directory: string): ByteString {
  if (!isDamagedText(directory)) return byteStringFromText(directory);
  const current = currentDirectory();
  if (current === undefined || textOf(current) !== directory) throw notRecovered(directory);
  return current;
}

function currentDirectory(): ByteString | undefined {
  try {
    return readlinkSync('/proc/self/cwd', 'latin1') as ByteString;
  } catch {
    return undefined;
  }
}

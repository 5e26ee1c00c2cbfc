import { readFileSync, readlinkSync } from 'node:fs';
import { isAbsolute, posix } from 'node:path';
import type { ByteString } from '../util/byte-string.ts';
import { byteStringFromText, joinPath, textOf } from '../util/byte-string.ts';

/** What Node puts in the place of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/** Whether bytes were lost when the system's text was made a string. */
export function isDamagedText(text: string): boolean {
  return text.includes(REPLACEMENT);
}

/** The arguments of this process as the system has them, Node's own included; `undefined` where it does not say. */
export function rawArguments(): ByteString[] | undefined {
  try {
    return readFileSync('/proc/self/cmdline', 'latin1').replace(/\0$/, '').split('\0') as ByteString[];
  } catch {
    return undefined;
  }
}

/**
 * The bytes of each text, which came from the command line. Damaged ones are found again among `raw` by what they look
 * like; where several look alike, the first text gets the first of them, and so on. The value of an option may stand in
 * one argument with it: `--target=x`, `-tx`.
 */
export function recoverBytes(
  texts: readonly string[],
  raw: readonly ByteString[] | undefined = texts.some(isDamagedText) ? rawArguments() : undefined,
): ByteString[] {
  const unused = (raw ?? []).flatMap(wordsOf);
  return texts.map((text) => {
    if (!isDamagedText(text)) return byteStringFromText(text);
    const position = unused.findIndex((argument) => textOf(argument) === text);
    return position === -1 ? byteStringFromText(text) : unused.splice(position, 1)[0]!;
  });
}

function wordsOf(argument: ByteString): ByteString[] {
  if (!argument.startsWith('-')) return [argument];
  return [argument, argument.replace(/^--[^=]+=/, ''), argument.slice(2)] as ByteString[];
}

/** The bytes of a path from the command line, absolute and without `.` and `..`. */
export function absoluteBytes(path: string): ByteString {
  if (path === process.cwd()) return directoryBytes(path);
  const [bytes] = recoverBytes([path]);
  const absolute = isAbsolute(path) ? bytes! : joinPath(directoryBytes(process.cwd()), bytes!);
  return posix.normalize(absolute).replace(/(.)\/$/, '$1') as ByteString;
}

/** The bytes of a directory that is, or may be, the current one. */
export function directoryBytes(directory: string): ByteString {
  if (!isDamagedText(directory)) return byteStringFromText(directory);
  try {
    const current = readlinkSync('/proc/self/cwd', 'latin1') as ByteString;
    return textOf(current) === directory ? current : byteStringFromText(directory);
  } catch {
    return byteStringFromText(directory);
  }
}

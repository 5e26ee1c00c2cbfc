import { readFileSync } from 'node:fs';
import { UsageError } from '../../core/errors.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { byteStringFromText, bytesOf, isDamagedText, textOf } from '../../core/util/byte-string.ts';

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

/**
 * Returns arguments for an operation: as they are, or as bytes if the text has lost some. Throws like `recoverBytes`.
 */
export function pathInputs(texts: readonly string[]): PathInput[] {
  return texts.some(isDamagedText) ? recoverBytes(texts).map((path) => bytesOf(path)) : [...texts];
}

/** Like `pathInputs`, for a single argument. */
export function pathInput(text: string): PathInput {
  return pathInputs([text])[0]!;
}

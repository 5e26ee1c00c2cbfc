import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import { CancelledError, UsageError } from '../../core/errors.ts';
import { utf8Of } from '../../core/files/paths/text-file.ts';
import { readWholeFile } from '../../core/files/target/whole-file.ts';
import { LINES_PER_KEY, decodeKeyLine } from '../../core/format/key-page.ts';
import { recoverBytes } from '../input/raw-arguments.ts';

/** Far more than a page has. */
const PAGE_BYTES_MAX = 64 * 1024;

/**
 * Returns the text of an exported page: of a file, of stdin (`-`), or typed line by line on the terminal.
 * @throws UsageError
 */
export async function readKeyPage(file: string | undefined, signal: AbortSignal | undefined): Promise<string> {
  if (file !== undefined && file !== '-') {
    return utf8Of(readWholeFile(recoverBytes([file])[0]!, { maxBytes: PAGE_BYTES_MAX }), file).toString();
  }
  if (file === undefined && process.stdin.isTTY) return await askPage(signal);
  return await readStandardInput(signal);
}

async function readStandardInput(signal: AbortSignal | undefined): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  const stop = (): void => void process.stdin.destroy();
  signal?.addEventListener('abort', stop);
  try {
    for await (const part of process.stdin as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length > PAGE_BYTES_MAX) throw new UsageError('standard input is too long for a page with a key');
    }
    return utf8Of(Buffer.concat(parts), 'standard input').toString();
  } finally {
    signal?.removeEventListener('abort', stop);
    signal?.throwIfAborted();
  }
}

/** Asks for each line again until it is correct, so that one typing error does not cost the whole page. */
async function askPage(signal: AbortSignal | undefined): Promise<string> {
  process.stderr.write('Type the lines of the page. The number at the beginning is not needed.\n');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // In its raw mode, readline takes Ctrl+C for itself, and Ctrl+D ends it.
  const ending = new AbortController();
  terminal.on('SIGINT', () => ending.abort(new CancelledError('SIGINT')));
  terminal.on('close', () => ending.abort(new UsageError('the page is incomplete')));
  const stop = (): void => ending.abort(signal?.reason);
  signal?.addEventListener('abort', stop);
  const lines: string[] = [];
  try {
    for (;;) {
      const number = lines.length + 1;
      const isOptional = lines.length > 0 && lines.length % LINES_PER_KEY === 0;
      const line = await askLine(terminal, { number, isOptional, signal: ending.signal });
      if (line === undefined) return lines.join('\n');
      lines.push(line);
    }
  } catch (error) {
    // The error of the aborted question does not say why.
    ending.signal.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    terminal.close();
  }
}

/** Returns undefined if there are no more keys. */
async function askLine(
  terminal: Interface,
  {
    number,
    isOptional,
    signal,
  }: { readonly number: number; readonly isOptional: boolean; readonly signal: AbortSignal },
): Promise<string | undefined> {
  for (;;) {
    const question = `Line ${number}${isOptional ? ' (Return if there is none)' : ''}: `;
    const typed = (await terminal.question(question, { signal })).trim();
    if (typed === '' && isOptional) return undefined;
    try {
      decodeKeyLine(number, typed);
      return `${number} ${typed.replace(new RegExp(`^${number}[.:)]?\\s`), '')}`;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      process.stderr.write(`${error.message}. ${error.hint ?? ''}\n`);
    }
  }
}

import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { UsageError } from '../../core/errors.ts';
import { sourceError } from '../../core/files/paths/path-failures.ts';
import { readWholeFile } from '../../core/files/target/whole-file.ts';
import { untilAborted } from '../../core/files/source/until-aborted.ts';
import { byteStringFromText, fsPath, type ByteString } from '../../core/util/byte-string.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import { openReadable, readIfPipe, readAll } from '../../console/input/readable-file.ts';
import { openStandardInput } from '../../console/input/standard-input.ts';
import { KeySplitter } from './split-keys.ts';

const STANDARD_INPUT = '-';
const LINE_FEED = 0x0a;
/** How much of a pipe is kept while its keys are counted. */
const KEPT_BYTES_MAX = 64 * 2 ** 20;

/** The options of commands that read keys. */
export interface KeyInputFlags {
  readonly null?: boolean;
}

/** Reads keys from files and standard input. */
export class KeyInput {
  readonly #paths: readonly (ByteString | undefined)[];
  readonly #delimiter: number;
  readonly #signal: AbortSignal | undefined;
  /** What came through pipes, by the index of the path. */
  readonly #kept = new Map<number, readonly Uint8Array[]>();
  #keptBytes = 0;

  /** @throws UsageError if standard input is named twice */
  constructor(names: readonly string[], { null: isNull }: KeyInputFlags, signal: AbortSignal | undefined) {
    if (names.filter((name) => name === STANDARD_INPUT).length > 1) {
      throw new UsageError('standard input can be read only once');
    }
    const paths = recoverBytes(names);
    this.#paths = names.map((name, index) => (name === STANDARD_INPUT ? undefined : paths[index]!));
    this.#delimiter = isNull === true ? 0 : LINE_FEED;
    this.#signal = signal;
  }

  /**
   * Counts the keys, and keeps what can be read only once.
   * @throws UsageError if that is more than 64 MiB
   * @throws SourceError if a file cannot be read
   */
  async count(): Promise<number> {
    let count = 0;
    for (let index = 0; index < this.#paths.length; index++) {
      const kept = this.#isFile(index) ? undefined : ([] as Uint8Array[]);
      const splitter = new KeySplitter(this.#delimiter);
      for await (const piece of this.#pieces(index)) {
        if (kept !== undefined) this.#keep(kept, piece);
        exhaust(splitter.keysIn(piece));
      }
      exhaust(splitter.end());
      count += splitter.count;
      if (kept !== undefined) this.#kept.set(index, kept);
    }
    return count;
  }

  /** The keys of all inputs, in their order. Throws SourceError. */
  async *batches(): AsyncGenerator<Iterable<Uint8Array>> {
    for (let index = 0; index < this.#paths.length; index++) {
      const splitter = new KeySplitter(this.#delimiter);
      for await (const piece of this.#kept.get(index) ?? this.#pieces(index)) yield splitter.keysIn(piece);
      yield splitter.end();
    }
  }

  #keep(kept: Uint8Array[], piece: Uint8Array): void {
    this.#keptBytes += piece.length;
    if (this.#keptBytes > KEPT_BYTES_MAX) {
      throw new UsageError('the keys of a pipe cannot be counted: they have more than 64 MiB', {
        hint: 'Give the number of distinct keys with --expected, or write the keys to a file and name it.',
      });
    }
    kept.push(piece);
  }

  /** Whether it can be read twice. */
  #isFile(index: number): boolean {
    const path = this.#paths[index];
    if (path === undefined) return false;
    // What cannot be opened says why when it is.
    return statSync(fsPath(path), { throwIfNoEntry: false })?.isFile() === true;
  }

  async *#pieces(index: number): AsyncGenerator<Uint8Array> {
    const path = this.#paths[index];
    const stream = path === undefined ? openStandardInput() : openKeys(path);
    try {
      yield* untilAborted(stream, this.#signal);
    } catch (cause) {
      this.#signal?.throwIfAborted();
      throw sourceError({ operation: 'read', path: path ?? byteStringFromText('standard input'), cause });
    }
  }
}

/** Takes keys that only count. */
function exhaust(keys: Iterator<Uint8Array>): void {
  while (keys.next().done !== true);
}

function openKeys(path: ByteString): Readable {
  try {
    const stream = openReadable(path);
    if (stream !== undefined) return stream;
  } catch (cause) {
    throw sourceError({ operation: 'read', path, cause });
  }
  throw sourceError({ operation: 'read', path, cause: 'it is a directory' });
}

/** The name of a file, for messages. */
export function fileLabel(name: string): string {
  return name === STANDARD_INPUT ? 'standard input' : name;
}

/** Reads a filter from a file, a pipe, or standard input if the name is `-`. Throws SourceError. */
export async function readFilterBytes(name: string, signal: AbortSignal): Promise<Buffer> {
  if (name === STANDARD_INPUT) return await readAll(openStandardInput(), signal);
  const path = recoverBytes([name])[0]!;
  return (await readIfPipe(path, signal)) ?? readWholeFile(path);
}

import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { sha256 } from '../crypto/sha256.ts';
import { CorruptDataError, UnreliableReadError, UnsupportedFormatError, isAbsent } from '../errors.ts';
import { baseName } from '../format/layout.ts';
import type { Backend } from './backend.ts';
import { PassingBackend } from './passing-backend.ts';

/** What damages bytes on the way hardly ever gives the same wrong ones twice. */
export const READS_MAX = 5;

/**
 * Reads a file, or a part of it, and makes something of it. One wrong answer says nothing about what is stored: memory,
 * cables, servers and proxies fail too. So what is wrong is read again, from where it is stored, until it is right or
 * the same wrong bytes have come twice. Nor does one answer that a file is missing, which has a size.
 * @param read - reads from the place that it gets, which is `backend`, and throws `CorruptDataError` if that is wrong
 * @param sizing - the size, if it was asked for already
 * @throws CorruptDataError if what is stored is damaged
 * @throws UnreliableReadError if every answer is wrong in another way
 */
export async function readSurely<T>(
  backend: Backend,
  name: string,
  read: (from: Backend) => Promise<T>,
  sizing?: Promise<number | undefined>,
): Promise<T> {
  try {
    return await read(backend);
  } catch (error) {
    const isContradicted = isAbsent(error) && (await (sizing ?? backend.sizeOf(name))) !== undefined;
    if (!isWrong(error) && !isContradicted) throw error;
    return await readAgain(backend, name, read);
  }
}

/** The same for what was wrong when it was read first. */
export async function readAgain<T>(backend: Backend, name: string, read: (from: Backend) => Promise<T>): Promise<T> {
  backend.distrust?.(name);
  const answers = new Set<string>();
  for (let count = 1; count < READS_MAX; count += 1) {
    const recorder = new AnswerRecorder(backend);
    try {
      return await read(recorder);
    } catch (error) {
      if (!isWrong(error)) throw error;
      const answer = recorder.digest();
      if (answers.has(answer) && !(await recorder.isTooShort(name))) throw error;
      answers.add(answer);
    }
  }
  throw unreliable(backend, name);
}

/**
 * The same for what may well be damaged where it is stored. Returns what is stored there, right or wrong: wrong bytes
 * only if they came twice.
 */
export async function readAsStored<T>(
  backend: Backend,
  name: string,
  read: (from: Backend) => Promise<T>,
  isRight: (value: T) => boolean,
): Promise<T> {
  let wrong: { readonly value: T } | undefined;
  try {
    return await readSurely(backend, name, async (from) => {
      wrong = undefined;
      const value = await read(from);
      if (isRight(value)) return value;
      wrong = { value };
      throw new CorruptDataError(`${name} is damaged`);
    });
  } catch (error) {
    if (wrong !== undefined && error instanceof CorruptDataError) return wrong.value;
    throw error;
  }
}

/**
 * Reads a file whose bytes are to take the place of it: a wrong answer must not. Where the name is not the SHA-256 of the
 * bytes, two answers are compared.
 */
export async function readToMove(backend: Backend, name: string): Promise<Uint8Array> {
  const isRight = (bytes: Uint8Array): boolean => sha256(bytes) === baseName(name);
  return await readAsStored(backend, name, async (from) => from.read(name), isRight);
}

/** Says that all readings of a file were wrong, and none can be what is stored. */
export function unreliable(backend: Pick<Backend, 'location'>, name: string): UnreliableReadError {
  return new UnreliableReadError(
    `repository ${backend.location}: ${READS_MAX} reads of ${name} gave wrong bytes: other ones each time, or fewer than it has`,
    {
      kind: 'other',
      hint: 'The connection, the server, or memory damages data on the way. What is stored may be sound: run the command on another machine or over another connection.',
    },
  );
}

/** A wrong version number looks like a file of a newer program. */
function isWrong(error: unknown): boolean {
  return error instanceof CorruptDataError || error instanceof UnsupportedFormatError;
}

/** Computes a digest of everything that is read. */
class AnswerRecorder extends PassingBackend {
  readonly #hash: Hash = createHash('sha256');
  /** The size of the file, according to an answer with the whole of it. */
  #wholeBytes: number | undefined;
  /** It must be shorter than this, according to an answer that it ends before. */
  #missingEnd: number | undefined;

  override async sizeOf(name: string): Promise<number | undefined> {
    const sizeBytes = await super.sizeOf(name);
    this.#hash.update(`${sizeBytes} `);
    return sizeBytes;
  }

  override async read(name: string): Promise<Uint8Array> {
    const bytes = await super.read(name);
    this.#hash.update(bytes);
    this.#wholeBytes = bytes.length;
    return bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    // What an earlier reading has left there must not count if this one ends early.
    target.fill(0);
    try {
      await super.readRange(name, offset, target);
    } catch (error) {
      if (error instanceof CorruptDataError) this.#missingEnd = offset + target.length;
      throw error;
    } finally {
      this.#hash.update(target);
    }
  }

  digest(): string {
    return this.#hash.digest('hex');
  }

  /** Whether an answer ended before the file does. A directory of this machine does not do that. */
  async isTooShort(name: string): Promise<boolean> {
    if (this.localDirectory !== undefined) return false;
    const sizeBytes = await super.sizeOf(name);
    if (sizeBytes === undefined) return false;
    return (this.#wholeBytes ?? sizeBytes) < sizeBytes || (this.#missingEnd ?? Infinity) <= sizeBytes;
  }
}

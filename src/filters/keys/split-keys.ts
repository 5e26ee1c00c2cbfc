import { LdmError } from '../../core/errors.ts';

/** A file without line breaks must not fill the memory. */
const KEY_BYTES_MAX = 2 ** 24;

/** Cuts a stream of bytes into keys, each of which a delimiter ends. The last one need not have it. */
export class KeySplitter {
  readonly #delimiter: number;
  /** The beginning of a key that ends in a later piece. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #count = 0;

  /** @param delimiter - a byte */
  constructor(delimiter: number) {
    this.#delimiter = delimiter;
  }

  /** The number of keys so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Returns the keys that end in this piece: views of it, if they begin in it too.
   * @throws LdmError if a key has more than 16 MiB
   */
  *keysIn(piece: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let to = piece.indexOf(this.#delimiter); to >= 0; to = piece.indexOf(this.#delimiter, from)) {
      const key = this.#complete(piece.subarray(from, to));
      from = to + 1;
      this.#count++;
      yield key;
    }
    if (from < piece.length) this.#keep(piece.subarray(from));
  }

  /** Returns the last key, if no delimiter ended it. */
  *end(): Generator<Uint8Array> {
    if (this.#restBytes === 0) return;
    this.#count++;
    yield this.#complete(new Uint8Array());
  }

  #complete(part: Uint8Array): Uint8Array {
    this.#checkLength(part);
    if (this.#restBytes === 0) return part;
    const key = Buffer.concat([...this.#rest, part]);
    this.#rest = [];
    this.#restBytes = 0;
    return key;
  }

  #keep(part: Uint8Array): void {
    this.#checkLength(part);
    this.#rest.push(part);
    this.#restBytes += part.length;
  }

  #checkLength(part: Uint8Array): void {
    if (this.#restBytes + part.length <= KEY_BYTES_MAX) return;
    throw new LdmError(`key ${this.#count + 1} has more than ${KEY_BYTES_MAX / 2 ** 20} MiB`, {
      hint: 'Each line is a key, or each part up to a NUL byte: this input does not seem to have keys.',
    });
  }
}

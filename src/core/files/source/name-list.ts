import type { ByteString } from '../../util/byte-string.ts';

/** The sorted names in a directory. */
export type Names = Pick<readonly ByteString[], 'length' | 'at' | 'includes'>;

/** From this number of names, separate strings take considerable memory. */
const PACKED_COUNT_MIN = 4096;

/** Packs sorted names into little memory: a million strings take 40 MB and slow down the garbage collector. */
export function packNames(names: readonly ByteString[]): Names {
  return names.length < PACKED_COUNT_MIN ? names : new PackedNames(names);
}

class PackedNames implements Names {
  readonly length: number;
  /** The concatenated names. */
  readonly #bytes: Buffer;
  /** The offset of each name, and the end of the last one. */
  readonly #offsets: Float64Array;

  constructor(names: readonly ByteString[]) {
    this.length = names.length;
    this.#offsets = new Float64Array(names.length + 1);
    let offset = 0;
    for (const [index, name] of names.entries()) {
      offset += name.length;
      this.#offsets[index + 1] = offset;
    }
    this.#bytes = Buffer.allocUnsafeSlow(offset);
    for (const [index, name] of names.entries()) this.#bytes.write(name, this.#offsets[index]!, 'latin1');
  }

  at(index: number): ByteString | undefined {
    if (index >= this.length) return undefined;
    return this.#bytes.toString('latin1', this.#offsets[index], this.#offsets[index + 1]) as ByteString;
  }

  includes(name: ByteString): boolean {
    let low = 0;
    let high = this.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.at(middle)!;
      if (found === name) return true;
      if (found < name) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }
}

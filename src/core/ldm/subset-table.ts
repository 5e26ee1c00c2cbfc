/** Numbers subsets of a small set, each once. Number 0 is the empty one. */
export class SubsetTable {
  readonly #wordCount: number;
  readonly #subsets: Uint32Array[];
  readonly #numbers = new Map<string, number>();
  readonly #unions = new Map<number, number>();

  constructor(memberCount: number) {
    this.#wordCount = Math.max(1, Math.ceil(memberCount / 32));
    this.#subsets = [new Uint32Array(this.#wordCount)];
    this.#numbers.set(keyOf(this.#subsets[0]!), 0);
  }

  single(member: number): number {
    const bits = new Uint32Array(this.#wordCount);
    bits[member >>> 5]! |= 1 << (member & 31);
    return this.#numberOf(bits);
  }

  union(a: number, b: number): number {
    if (a === b || b === 0) return a;
    if (a === 0) return b;
    const pair = a * 2 ** 26 + b;
    const known = this.#unions.get(pair);
    if (known !== undefined) return known;
    const other = this.#subsets[b]!;
    const union = this.#numberOf(this.#subsets[a]!.map((word, index) => word | other[index]!));
    this.#unions.set(pair, union);
    return union;
  }

  /** The members of a subset, one bit each. */
  bitsOf(number: number): Uint32Array {
    return this.#subsets[number]!;
  }

  #numberOf(bits: Uint32Array): number {
    const key = keyOf(bits);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#subsets.push(bits);
    this.#numbers.set(key, this.#subsets.length - 1);
    return this.#subsets.length - 1;
  }
}

function keyOf(bits: Uint32Array): string {
  return Buffer.from(bits.buffer, bits.byteOffset, bits.byteLength).toString('latin1');
}

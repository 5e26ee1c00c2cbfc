/** What a query for an id reads, to show it to people. */
export interface Trace {
  /** Hash values and what follows from them: a name, and a number as text. */
  readonly hashes: readonly (readonly [name: string, value: string])[];
  /** How the positions follow from these. */
  readonly rule: string;
  /** The k positions, in the order of the hash functions. */
  readonly positions: readonly number[];
  readonly unit: 'bit' | 'counter';
  /** The arrays that have these positions: one, or one for each filter of a list. */
  readonly arrays: readonly TracedArray[];
  /** Of an exact filter: where the chain is that is searched if no position has a 0, and the number of ids in it. */
  readonly link?: {
    readonly name: string;
    readonly rule: string;
    readonly position: number;
    readonly chainLength: number;
  };
}

/** What a query reads of a filter that stores fingerprints, or cells of several filters. */
export interface SlotTrace {
  readonly hashes: Trace['hashes'];
  readonly slots: readonly TracedSlot[];
  /** Writes a value of a slot: in hexadecimal, or in binary if its bits count one by one. */
  readonly format: (value: number) => string;
  readonly isFound: boolean;
  /** Why the answer is that. */
  readonly reason: string;
}

export interface TracedSlot {
  readonly label: string;
  /** The number of the slot. Undefined: the value is computed of those before. */
  readonly place?: number;
  /** Undefined: the slot is empty. */
  readonly value: number | undefined;
  /** Whether the key could have been added here. */
  readonly isMatch?: boolean;
}

export function inHexadecimal(value: number): string {
  return `0x${value.toString(16)}`;
}

export interface TracedArray {
  /** m */
  readonly size: number;
  /** The bit, or the counter. */
  valueAt(position: number): number;
}

/** The positions start, start + stride and so on, modulo `size`. */
export function traceOfStride(
  { start, stride }: { readonly start: number; readonly stride: number },
  { size, hashes }: { readonly size: number; readonly hashes: number },
): Pick<Trace, 'hashes' | 'rule' | 'positions'> {
  return {
    hashes: [
      ['start', String(start)],
      ['stride', String(stride)],
    ],
    rule: 'h1 is the start, and each further one is a stride later, modulo m',
    positions: Array.from({ length: hashes }, (_, index) => (start + index * stride) % size),
  };
}

/** Returns two words of a hash, the lower one first, as a 64-bit number. */
export function hexOfHalf(words: Uint32Array, at: number): string {
  return `0x${[words[at + 1]!, words[at]!].map((word) => word.toString(16).padStart(8, '0')).join('')}`;
}

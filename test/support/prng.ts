/** A seeded source of pseudo-random values: the same seed gives the same values on every machine. */
export interface Prng {
  /** An integer from 0 to 2^32 - 1. */
  next(): number;
  /** An integer from 0 to `limit` - 1. */
  int(limit: number): number;
  bytes(sizeBytes: number): Buffer;
  pick<T>(values: readonly T[]): T;
}

/** mulberry32 (Tommy Ettinger): tests need speed and repeatability, not quality. */
export function createPrng(seed: number): Prng {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
  function int(limit: number): number {
    return Math.floor((next() / 2 ** 32) * limit);
  }
  return {
    next,
    int,
    bytes(sizeBytes: number): Buffer {
      const words = new Uint32Array(Math.ceil(sizeBytes / 4));
      for (let index = 0; index < words.length; index++) words[index] = next();
      return Buffer.from(words.buffer, 0, sizeBytes);
    },
    pick<T>(values: readonly T[]): T {
      if (values.length === 0) throw new RangeError('nothing to pick from');
      return values[int(values.length)]!;
    },
  };
}

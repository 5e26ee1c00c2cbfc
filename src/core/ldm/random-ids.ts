/** A seeded generator of 32-bit numbers (xoshiro128**), for random ids that are the same in every run. */
export function randomWords(seed: number): () => number {
  // splitmix32 spreads a small seed over the four state words.
  let mixed = seed | 0;
  const nextMixed = (): number => {
    mixed = (mixed + 0x9e37_79b9) | 0;
    let word = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
    return word ^ (word >>> 16);
  };
  let a = nextMixed();
  let b = nextMixed();
  let c = nextMixed();
  let d = nextMixed();
  return () => {
    const product = Math.imul(b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return result;
  };
}

/** Fills a buffer, whose length is a multiple of 4, with random ids. */
export function fillRandomIds(target: Uint8Array, nextWord: () => number): void {
  for (let at = 0; at < target.length; at += 4) {
    const word = nextWord();
    target[at] = word;
    target[at + 1] = word >>> 8;
    target[at + 2] = word >>> 16;
    target[at + 3] = word >>> 24;
  }
}

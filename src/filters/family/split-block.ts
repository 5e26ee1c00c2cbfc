/** A block has eight words of 32 bits; an id sets one bit in each word of one block. */
export const BLOCK_WORDS = 8;
export const BLOCK_BYTES = 32;
/** Parquet stores the number of bytes as a signed number of 32 bits. */
export const BLOCKS_MAX: number = 2 ** 26 - 1;

const TWO_POW_16 = 2 ** 16;
const WORD_BITS = 32;
/** With more ids per block, practically all bits are set. */
const IDS_PER_BLOCK_MAX = 600;

/** The odd factors of Parquet's specification, one for each word of a block. */
const SALTS = [
  0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31,
].map((salt) => salt | 0);

/** The first word of the block of a hash: the upper 32 bits of the product of its high word and the number of blocks. */
export function blockAt(high: number, blocks: number): number {
  const lower = Math.floor((high & 0xffff) * blocks * (1 / TWO_POW_16));
  return Math.floor(((high >>> 16) * blocks + lower) * (1 / TWO_POW_16)) * BLOCK_WORDS;
}

export function setBits(words: Int32Array, at: number, low: number): void {
  for (let index = 0; index < BLOCK_WORDS; index++) words[at + index]! |= 1 << (Math.imul(low, SALTS[index]!) >>> 27);
}

export function hasBits(words: Int32Array, at: number, low: number): boolean {
  for (let index = 0; index < BLOCK_WORDS; index++) {
    if (((words[at + index]! >>> (Math.imul(low, SALTS[index]!) >>> 27)) & 1) === 0) return false;
  }
  return true;
}

/** The bits of a hash in its block, one in each word. */
export function bitsOf(low: number): number[] {
  return SALTS.map((salt, index) => index * WORD_BITS + (Math.imul(low, salt) >>> 27));
}

/**
 * The expected rate of n ids in b blocks: a block with j ids says "perhaps" with the probability (1 - (31/32)^j)^8, and j
 * has a Poisson distribution with the mean n/b.
 */
function expectedRate(ids: number, blocks: number): number {
  const mean = ids / blocks;
  if (mean > IDS_PER_BLOCK_MAX) return 1;
  const last = mean + 12 * Math.sqrt(mean) + 30;
  let probability = Math.exp(-mean);
  let rate = 0;
  for (let inBlock = 1; inBlock <= last; inBlock++) {
    probability *= mean / inBlock;
    rate += probability * (-Math.expm1(inBlock * Math.log1p(-1 / WORD_BITS))) ** BLOCK_WORDS;
  }
  return rate;
}

/** The fewest blocks that have the rate; BLOCKS_MAX + 1 if there are not enough. */
export function blocksForRate(ids: number, rate: number): number {
  let tooFew = 0;
  let enough = 1;
  while (enough <= BLOCKS_MAX && expectedRate(ids, enough) > rate) {
    tooFew = enough;
    enough = Math.min(enough * 2, BLOCKS_MAX + 1);
  }
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (expectedRate(ids, middle) > rate) tooFew = middle;
    else enough = middle;
  }
  return enough;
}

/** Number of set bits in each word, counted in groups of 2, 4 and 8 bits, and summed with a multiplication. */
export function bitsSet(word: number): number {
  let sums = word - ((word >>> 1) & 0x5555_5555);
  sums = (sums & 0x3333_3333) + ((sums >>> 2) & 0x3333_3333);
  return Math.imul((sums + (sums >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The mean over all blocks of the product of the shares of set bits in their words. */
export function rateOf(words: Int32Array): number {
  let sum = 0;
  for (let at = 0; at < words.length; at += BLOCK_WORDS) {
    let product = 1;
    for (let index = 0; index < BLOCK_WORDS; index++) product *= bitsSet(words[at + index]!) / WORD_BITS;
    sum += product;
  }
  return (sum * BLOCK_WORDS) / words.length;
}

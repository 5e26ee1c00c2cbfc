/**
 * Derives filter positions from a chunk id. An id is a keyed hash, so its bytes are uniform, an attacker cannot choose
 * positions, and no further hashing is needed. Four of its five words give a start and a stride; position i is (start +
 * i stride) mod m.
 */

export const ID_BYTES = 20;
export const ID_WORDS = 5;

const TWO_POW_20 = 2 ** 20;
const TWO_POW_MINUS_52 = 2 ** -52;

/** Reads the id at `offset` as five little-endian words, regardless of the byte order of the machine. */
export function readIdWords(ids: Uint8Array, offset: number, target: Uint32Array): void {
  for (let word = 0, at = offset; word < ID_WORDS; word++, at += 4) {
    target[word] = ids[at]! | (ids[at + 1]! << 8) | (ids[at + 2]! << 16) | (ids[at + 3]! << 24);
  }
}

/** The inverse of `readIdWords`. `at` is the index of the first word of the id in `words`. */
export function writeIdWords(words: Uint32Array, at: number, target: Uint8Array, offset: number): void {
  for (let index = 0; index < ID_BYTES; index++) {
    target[offset + index] = words[at + (index >> 2)]! >>> ((index & 3) << 3);
  }
}

/** Whether the id that begins at the word `at` of `words` is `id`. */
export function hasIdAt(words: Uint32Array, at: number, id: Uint32Array): boolean {
  return (
    words[at] === id[0] &&
    words[at + 1] === id[1] &&
    words[at + 2] === id[2] &&
    words[at + 3] === id[3] &&
    words[at + 4] === id[4]
  );
}

/** The first position, 0 to m - 1: a 52-bit fraction times m, which avoids the bias of a remainder. */
export function startOf(words: Uint32Array, at: number, positions: number): number {
  return Math.floor((words[at]! * TWO_POW_20 + (words[at + 1]! >>> 12)) * TWO_POW_MINUS_52 * positions);
}

/** The distance between positions, 1 to m - 1. It is never 0, so the k positions differ if m is prime. */
export function strideOf(words: Uint32Array, at: number, positions: number): number {
  return 1 + Math.floor((words[at + 2]! * TWO_POW_20 + (words[at + 3]! >>> 12)) * TWO_POW_MINUS_52 * (positions - 1));
}

/**
 * The next position, (position + stride) mod m, without a branch. The branch would be random, and mispredicting it half
 * of the time doubles the cost of a lookup. Needs m < 2^31.
 */
export function stepFrom(position: number, stride: number, positions: number): number {
  const next = (position - (positions - stride)) | 0;
  return next + (positions & (next >> 31));
}

/**
 * Formula (3) without a loop: the sum of (start + i stride) for i = 0 to k - 1, modulo m. Rounding cannot change the
 * quotient: it is below 2^10, and the distance of the sum to a multiple of m is either 0 or above 2^-31 of m.
 */
export function linkFrom(start: number, stride: number, positions: number, hashes: number): number {
  const sum = hashes * start + ((hashes * (hashes - 1)) / 2) * stride;
  return sum - Math.floor(sum / positions) * positions;
}

/** The link position of the id that starts at `words[at]`. */
export function linkOf(words: Uint32Array, at: number, positions: number, hashes: number): number {
  return linkFrom(startOf(words, at, positions), strideOf(words, at, positions), positions, hashes);
}

/** The head in a saved filter for a link position: the m positions share the heads evenly and in order. */
export function headOfLink(link: number, plan: { readonly capacity: number; readonly positions: number }): number {
  return Math.floor(link * (plan.capacity / plan.positions));
}

/** Whether `value` is prime. Uses trial division: values are below 2^32, so at most 22,000 divisions are needed. */
export function isPrime(value: number): boolean {
  if (value < 4) return value === 2 || value === 3;
  if (value % 2 === 0 || value % 3 === 0) return false;
  for (let divisor = 5; divisor * divisor <= value; divisor += 6) {
    if (value % divisor === 0 || value % (divisor + 2) === 0) return false;
  }
  return true;
}

/** The smallest prime greater than or equal to `value`. */
export function nextPrime(value: number): number {
  let candidate = Math.max(2, Math.ceil(value));
  while (!isPrime(candidate)) candidate++;
  return candidate;
}

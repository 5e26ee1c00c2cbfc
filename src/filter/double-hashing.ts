/** From this number of hashes on, an id that repeats another id's positions is a case of its own. See below. */
const HASHES_MIN = 3;

/**
 * How often an absent id finds all its positions taken because they repeat those of one id in the filter.
 *
 * Formula (1) takes the k positions as independent. With double hashing they are the progression a, a + b, ...,
 * a + (k - 1) b modulo the prime m, and there are only m (m - 1) of these. So:
 *
 * - Each of the n ids in the filter answers for two of them: its own, and the same one read backwards, which begins at
 *   a + (k - 1) b and has the stride -b. That is the floor, 2 n / (m (m - 1)), however few positions are taken.
 * - A progression that is shifted by s strides (s = 1 to k - 1, up or down, forwards or backwards) repeats k - s positions
 *   of that id and needs s others, each taken with the probability p = 1 - (1 - 1/m)^(k (n - 1)). That makes it
 *   2 n / (m (m - 1)) times 1 + 2 (p + p^2 + ... + p^(k-1)).
 *
 * Progressions with another stride share fewer positions and are left out; against an enumeration of all m (m - 1)
 * progressions, formula (1) and this together are within a tenth from m = 500 on. With one or two hashes, any positions
 * can be had by chance alone, so formula (1) already counts the repeats.
 */
export function repeatRate(positions: number, elements: number, hashes: number): number {
  if (elements === 0 || hashes < HASHES_MIN) return 0;
  const taken = -Math.expm1(hashes * (elements - 1) * Math.log1p(-1 / positions));
  let shifted = 0;
  for (let shift = hashes - 1; shift >= 1; shift--) shifted = (shifted + 1) * taken;
  return Math.min(1, ((2 * elements) / (positions * (positions - 1))) * (1 + 2 * shifted));
}

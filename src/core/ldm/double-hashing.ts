/** The fewest hashes for which repeated positions need a separate term. See below. */
const HASHES_MIN = 3;

/**
 * Probability that all positions of an absent id are taken because they repeat the positions of one id in the filter.
 *
 * Formula (1) assumes that the k positions are independent. With double hashing they are the progression a, a + b, ...,
 * a + (k - 1) b modulo the prime m, and only m (m - 1) such progressions exist. Therefore:
 *
 * - Each of the n ids in the filter covers two progressions: its own, and the reversed one, which starts at a + (k - 1)
 *   b and has the stride -b. This gives a lower bound of 2 n / (m (m - 1)), however few positions are taken.
 * - A progression shifted by s strides (s = 1 to k - 1, up or down, forwards or backwards) repeats k - s positions of
 *   that id and needs s others, each of which is taken with probability p = 1 - (1 - 1/m)^(k (n - 1)). The total is 2 n
 *   / (m (m - 1)) times 1 + 2 (p + p^2 + ... + p^(k-1)).
 *
 * Progressions with a different stride share fewer positions and are ignored. Compared with an enumeration of all m (m
 * - 1) progressions, the sum of formula (1) and this term is accurate to within a tenth for m >= 500. With one or two
 * hashes, every set of positions can also occur by chance, so formula (1) already includes the repeats.
 */
export function repeatRate(positions: number, elements: number, hashes: number): number {
  if (elements === 0 || hashes < HASHES_MIN) return 0;
  const taken = -Math.expm1(hashes * (elements - 1) * Math.log1p(-1 / positions));
  let shifted = 0;
  for (let shift = hashes - 1; shift >= 1; shift--) shifted = (shifted + 1) * taken;
  return Math.min(1, ((2 * elements) / (positions * (positions - 1))) * (1 + 2 * shifted));
}

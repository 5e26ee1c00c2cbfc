/**
 * The expected longest chain when chunks fall on `bins` positions uniformly and independently, exactly, for every number
 * of chunks from 0 to `chunksMax`: `E[max] = sum over c >= 0 of P(max > c)`.
 *
 * `P(max <= c)` with n chunks is `n! / m^n` times the coefficient of x^n in `(1 + x + x^2/2! + ... + x^c/c!)^m`: the
 * number of ways to place n chunks so that no position has more than c. The coefficients follow from one another
 * (J. C. P. Miller's recurrence for the power of a series), and with n <= m every term of it is positive, so nothing
 * cancels.
 * @param bins - m; at least `chunksMax`.
 */
export function expectedLongestChains(bins: number, chunksMax: number): Float64Array {
  if (chunksMax > bins) throw new RangeError('the recurrence needs at least as many positions as chunks');
  const expected = new Float64Array(chunksMax + 1).fill(1);
  expected[0] = 0;
  // P(max > 0) is 1 as soon as there is a chunk, hence the 1.
  for (let limit = 1; limit < chunksMax; limit++) {
    const within = probabilitiesWithin(bins, chunksMax, limit);
    for (let chunks = 1; chunks <= chunksMax; chunks++) expected[chunks]! += 1 - within[chunks]!;
    if (1 - within[chunksMax]! < NEGLIGIBLE) break;
  }
  return expected;
}

/** What is left out of an expectation; well above the rounding of the logarithms. */
const NEGLIGIBLE = 1e-9;
const SCALE = 2 ** 500;
const LOG_SCALE = 500 * Math.LN2;

/** P(max <= limit) for every number of chunks. Coefficients beyond the range of a double are kept as a power apart. */
function probabilitiesWithin(bins: number, chunksMax: number, limit: number): Float64Array {
  const terms = reciprocalFactorials(limit);
  const coefficients = new Float64Array(chunksMax + 1);
  const within = new Float64Array(chunksMax + 1);
  coefficients[0] = 1;
  within[0] = 1;
  let logScale = 0;
  // ln of n! / m^n
  let logWays = 0;
  for (let chunks = 1; chunks <= chunksMax; chunks++) {
    let sum = 0;
    for (let term = 1; term <= Math.min(limit, chunks); term++) {
      sum += (term * bins - chunks + term) * terms[term]! * coefficients[chunks - term]!;
    }
    const coefficient = sum / chunks;
    coefficients[chunks] = coefficient;
    logWays += Math.log(chunks / bins);
    within[chunks] = Math.min(1, Math.exp(Math.log(coefficient) + logScale + logWays));
    if (coefficient > SCALE) {
      for (let at = Math.max(0, chunks - limit); at <= chunks; at++) coefficients[at]! /= SCALE;
      logScale += LOG_SCALE;
    }
  }
  return within;
}

function reciprocalFactorials(count: number): Float64Array {
  const terms = new Float64Array(count + 1).fill(1);
  for (let index = 2; index <= count; index++) terms[index] = terms[index - 1]! / index;
  return terms;
}

/** How likely a position has exactly `count` when `mean` is expected there: `e^-mean mean^count / count!`. */
export function poisson(mean: number, count: number): number {
  if (mean === 0) return count === 0 ? 1 : 0;
  let logProbability = -mean + count * Math.log(mean);
  for (let factor = 2; factor <= count; factor++) logProbability -= Math.log(factor);
  return Math.exp(logProbability);
}

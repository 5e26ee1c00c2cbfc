/**
 * The exact expected length of the longest chain if chunks are distributed over `bins` positions uniformly and
 * independently, for every number of chunks from 0 to `chunksMax`: `E[max] = sum over c >= 0 of P(max > c)`.
 *
 * `P(max <= c)` with n chunks is `n! / m^n` times the coefficient of x^n in `(1 + x + x^2/2! + ... + x^c/c!)^m`: the
 * number of ways to place n chunks so that no position has more than c. The coefficients follow from a recurrence (J.
 * C. P. Miller's recurrence for the power of a series). For n <= m all of its terms are positive, so nothing cancels.
 * @param bins - m; at least `chunksMax`.
 */
export function expectedLongestChains(bins: number, chunksMax: number): Float64Array {
  if (chunksMax > bins) throw new RangeError('the recurrence requires at least as many positions as chunks');
  const expected = new Float64Array(chunksMax + 1).fill(1);
  expected[0] = 0;
  // P(max > 0) is 1 if there is any chunk, so start with 1.
  for (let limit = 1; limit < chunksMax; limit++) {
    const within = probabilitiesWithin(bins, chunksMax, limit);
    for (let chunks = 1; chunks <= chunksMax; chunks++) expected[chunks]! += 1 - within[chunks]!;
    if (1 - within[chunksMax]! < NEGLIGIBLE) break;
  }
  return expected;
}

/** Smaller terms of the expectation are ignored; well above the rounding errors of the logarithms. */
const NEGLIGIBLE = 1e-9;
const SCALE = 2 ** 500;
const LOG_SCALE = 500 * Math.LN2;

/**
 * P(max <= limit) for every number of chunks. Coefficients beyond the range of a double are scaled by a separate power.
 */
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

/** Probability of exactly `count` events if the expected number is `mean`: `e^-mean mean^count / count!`. */
export function poisson(mean: number, count: number): number {
  if (mean === 0) return count === 0 ? 1 : 0;
  let logProbability = -mean + count * Math.log(mean);
  for (let factor = 2; factor <= count; factor++) logProbability -= Math.log(factor);
  return Math.exp(logProbability);
}

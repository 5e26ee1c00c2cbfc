import { describe, expect, it } from 'vitest';
import { isPrime, nextPrime } from '../../../src/core/ldm/positions.ts';

describe('prime numbers', () => {
  it('are the same as the sieve of Eratosthenes finds', () => {
    const limit = 20_000;
    const isComposite = new Uint8Array(limit);
    for (let value = 2; value < limit; value++) {
      for (let multiple = value * 2; multiple < limit; multiple += value) isComposite[multiple] = 1;
    }
    const wrong = Array.from(isComposite.keys()).filter(
      (value) => value > 1 && isPrime(value) === (isComposite[value] === 1),
    );
    expect(wrong).toEqual([]);
    expect(isPrime(0)).toBe(false);
    expect(isPrime(1)).toBe(false);
  });

  it('are recognised where squares pass 2^31', () => {
    expect(isPrime(2 ** 31 - 1)).toBe(true);
    expect(isPrime(46_337 * 46_337)).toBe(false);
    expect(isPrime(46_337 * 46_339)).toBe(false);
  });

  it('nextPrime keeps a prime and goes up from anything else', () => {
    expect([0, 2, 6463, 6469, 16_158].map((value) => nextPrime(value))).toEqual([2, 2, 6469, 6469, 16_183]);
  });
});

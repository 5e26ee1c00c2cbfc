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

/**
 * Returns the largest of the numbers, or `least` if none is larger. `Math.max(...numbers)` fails with more numbers than
 * there can be arguments, which are about 100,000.
 */
export function largestOf(numbers: Iterable<number>, least = 0): number {
  let largest = least;
  for (const number of numbers) if (number > largest) largest = number;
  return largest;
}

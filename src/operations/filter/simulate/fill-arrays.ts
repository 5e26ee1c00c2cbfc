import { linkPosition } from '../../../ldm/formulas.ts';
import type { ChainGroup, LongestChains } from './chain-group.ts';

/**
 * Fills one store as the paper describes it and returns the longest chains at each size. A chunk has k uniform hash
 * values. In the LDM filter it joins the chain at its link position, formula (3); in the DIBF it joins the cell whose
 * row and column are given by the first two values.
 */
export function fillArrays(
  { elements, positions, side, plan: { hashes } }: ChainGroup,
  sizes: readonly number[],
  nextWord: () => number,
): Pick<LongestChains, 'ldm' | 'dibf'>[] {
  const chains = new Uint32Array(positions);
  const cells = new Uint32Array(side * side);
  const shares = new Float64Array(hashes);
  const results: Pick<LongestChains, 'ldm' | 'dibf'>[] = [];
  let ldm = 0;
  let dibf = 0;
  for (let stored = 1; stored <= elements; stored++) {
    for (let hash = 0; hash < hashes; hash++) shares[hash] = nextWord() / 2 ** 32;
    const values = Array.from(shares, (share) => Math.floor(share * positions));
    const cell = Math.floor(shares[0]! * side) * side + Math.floor(shares[1]! * side);
    ldm = Math.max(ldm, ++chains[linkPosition(values, positions)]!);
    dibf = Math.max(dibf, ++cells[cell]!);
    if (stored === sizes[results.length]) results.push({ ldm, dibf });
  }
  return results;
}

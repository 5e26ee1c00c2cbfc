import type { LdmFilter } from '../../../core/ldm/ldm-filter.ts';
import { ID_BYTES, ID_WORDS, linkOf, readIdWords, startOf, stepFrom, strideOf } from '../../../core/ldm/positions.ts';

/** How the filter finds a chunk, step by step. */
export interface Explanation {
  /** m and k. */
  readonly positions: number;
  readonly hashes: number;
  /** The k positions, with the counter at each. */
  readonly counters: readonly { readonly position: number; readonly counter: number }[];
  /** Formula (3). */
  readonly link: number;
  /** Whether a counter is 0, so that the chain need not be walked. */
  readonly isCertainlyAbsent: boolean;
  /** Hex ids that the look-up compared, the sought one last if it is live, each with its link position. */
  readonly chain: readonly { readonly id: string; readonly link: number }[];
}

/** Explains the look-up of an id in the filter. */
export function explainLookUp(filter: LdmFilter, id: Uint8Array): Explanation {
  const { positions, hashes } = filter.plan;
  const linkAt = (ids: Uint8Array): number => {
    const words = new Uint32Array(ID_WORDS);
    readIdWords(ids, 0, words);
    return linkOf(words, 0, positions, hashes);
  };
  const counters = positionsOf(id, positions, hashes).map((position) => ({
    position,
    counter: filter.counters.countAt(position),
  }));
  const isCertainlyAbsent = counters.some(({ counter }) => counter === 0);
  const visited: number[] = [];
  void filter.find(id, 0, visited);
  const chain = visited.map((entry) => {
    const found = new Uint8Array(ID_BYTES);
    filter.copyId(entry, found, 0);
    return { id: Buffer.from(found).toString('hex'), link: linkAt(found) };
  });
  return { positions, hashes, counters, link: linkAt(id), isCertainlyAbsent, chain };
}

function positionsOf(id: Uint8Array, positions: number, hashes: number): number[] {
  const words = new Uint32Array(ID_WORDS);
  readIdWords(id, 0, words);
  const stride = strideOf(words, 0, positions);
  const all = [startOf(words, 0, positions)];
  while (all.length < hashes) all.push(stepFrom(all.at(-1)!, stride, positions));
  return all;
}

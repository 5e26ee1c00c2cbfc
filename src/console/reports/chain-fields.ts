import type { ChainStatistics } from '../../core/ldm/chain-statistics.ts';

/** Returns the JSON fields for chains, which are the same in every command. */
export function chainFields({ count, mean, max, meanVisited, histogram }: ChainStatistics): Record<string, unknown> {
  return { count, mean, max, mean_visited: meanVisited, histogram };
}

import { RefusedError } from '../../core/errors.ts';
import type { FilterStatistics } from '../../core/ldm/filter-statistics.ts';
import { growPlan } from '../../core/ldm/formulas.ts';
import type { FilterPlan } from '../../core/ldm/formulas.ts';
import { GROWTH_FACTOR } from '../../core/ldm/ldm-filter.ts';
import type { LdmFilter } from '../../core/ldm/ldm-filter.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { poisson } from '../theory/chain-theory.ts';

export interface InspectResult {
  readonly plan: FilterPlan;
  readonly statistics: FilterStatistics;
  /** Number of known chunks without references. */
  readonly deadElements: number;
  /** Number of live chunks that can be added before the filter grows. */
  readonly elementsUntilGrowth: number;
  /** The plan after the next growth if chunks are added gradually; undefined at the maximum size. */
  readonly nextPlan: FilterPlan | undefined;
  /**
   * `countersExpected[c]` is the number of counters with value c for uniform positions. Same length as the histogram.
   */
  readonly countersExpected: readonly number[];
  /**
   * `chainsExpected[l]` is the number of link positions with a chain of l for uniform links; 0 at index 0, like the
   * histogram.
   */
  readonly chainsExpected: readonly number[];
  /** The same for the chains of a saved filter, with one head per chunk of the capacity. */
  readonly savedChainsExpected: readonly number[];
  /** The same for the chains that a look-up walks, with half as many heads. */
  readonly walkedChainsExpected: readonly number[];
}

/** Inspects the filter of the repository. Reads no pack and changes nothing. */
export async function inspectFilter(context: OperationContext): Promise<InspectResult> {
  return await withRepository(context, 'read', async (repository) => {
    const { state } = await repository.openState();
    return inspect(state.filter);
  });
}

function inspect(filter: LdmFilter): InspectResult {
  const { plan, liveCount, deadCount } = filter;
  const statistics = filter.statistics();
  const { positions, hashes, capacity, counterHistogram, chains, savedChains, walkedChains } = statistics;
  const heads = Math.ceil(capacity / 2);
  return {
    plan,
    statistics,
    deadElements: deadCount,
    elementsUntilGrowth: plan.capacity - liveCount,
    nextPlan: planAfterGrowth(filter),
    countersExpected: expectedCounts(positions, (hashes * liveCount) / positions, counterHistogram.length),
    chainsExpected: expectedCounts(positions, liveCount / positions, chains.histogram.length).with(0, 0),
    savedChainsExpected: expectedCounts(capacity, liveCount / capacity, savedChains.histogram.length).with(0, 0),
    walkedChainsExpected: expectedCounts(heads, liveCount / heads, walkedChains.histogram.length).with(0, 0),
  };
}

/** Expected number of positions with 0, 1, 2 ... items at a given mean: the Poisson limit of uniform hashing. */
function expectedCounts(positions: number, mean: number, length: number): number[] {
  return Array.from({ length }, (_, count) => positions * poisson(mean, count));
}

function planAfterGrowth({ plan, liveCount, deadCount }: LdmFilter): FilterPlan | undefined {
  try {
    return growPlan(plan, Math.max(Math.ceil(plan.capacity * GROWTH_FACTOR), liveCount + deadCount));
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

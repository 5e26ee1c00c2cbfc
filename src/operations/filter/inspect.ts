import { RefusedError } from '../../errors.ts';
import type { FilterStatistics } from '../../filter/filter-statistics.ts';
import { growPlan } from '../../filter/formulas.ts';
import type { FilterPlan } from '../../filter/formulas.ts';
import { GROWTH_FACTOR } from '../../filter/ldm-filter.ts';
import type { LdmFilter } from '../../filter/ldm-filter.ts';
import { withRepository } from '../context.ts';
import type { OperationContext } from '../context.ts';
import { poisson } from './chain-theory.ts';

export interface InspectResult {
  readonly plan: FilterPlan;
  readonly statistics: FilterStatistics;
  /** Known, but without references. */
  readonly deadElements: number;
  /** How many more live chunks fit before the filter grows. */
  readonly elementsUntilGrowth: number;
  /** What it will grow to if chunks come a few at a time; undefined if it is as large as it can be. */
  readonly nextPlan: FilterPlan | undefined;
  /** At index c: how many counters uniform positions would put at c. As long as the histogram. */
  readonly countersExpected: readonly number[];
  /** At index l: how many link positions uniform links would give a chain of l; 0 at index 0, as in the histogram. */
  readonly chainsExpected: readonly number[];
  /** The same for the chains that are walked, one head for each chunk that the filter has room for. */
  readonly walkedChainsExpected: readonly number[];
}

/** Looks into the repository's own filter. No pack is read and nothing is changed. */
export async function inspectFilter(context: OperationContext): Promise<InspectResult> {
  return await withRepository(context, 'read', async (repository) => {
    const { state } = await repository.openState();
    return inspect(state.filter);
  });
}

function inspect(filter: LdmFilter): InspectResult {
  const { plan, liveCount, deadCount } = filter;
  const statistics = filter.statistics();
  const { positions, hashes, capacity, counterHistogram, chains, walkedChains } = statistics;
  return {
    plan,
    statistics,
    deadElements: deadCount,
    elementsUntilGrowth: plan.capacity - liveCount,
    nextPlan: planAfterGrowth(filter),
    countersExpected: expectedCounts(positions, (hashes * liveCount) / positions, counterHistogram.length),
    chainsExpected: expectedCounts(positions, liveCount / positions, chains.histogram.length).with(0, 0),
    walkedChainsExpected: expectedCounts(capacity, liveCount / capacity, walkedChains.histogram.length).with(0, 0),
  };
}

/** How many of `positions` have 0, 1, 2 ... when each has `mean` on average: the Poisson limit of uniform hashing. */
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

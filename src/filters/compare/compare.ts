import { MissingPackageError, UsageError } from '../../core/errors.ts';
import type { FilterName } from '../family/membership-filter.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { Caller } from '../../core/session/caller.ts';
import { CONTENDERS } from './contenders.ts';
import { measureStructure } from './measure-structure.ts';
import type { StructureResult } from './measure-structure.ts';
import { recommend } from './recommend.ts';
import type { Recommendation } from './recommend.ts';
export type { Fill, Filled, StructureResult } from './measure-structure.ts';
export type { Recommendation } from './recommend.ts';

/** In table order: approximate structures first, the exact baselines last. */
export const STRUCTURE_NAMES: readonly FilterName[] = CONTENDERS.map(({ name }) => name);

const SMALLEST = { capacity: 1, falsePositiveRate: 0.01, ids: 'hashed' } as const;

export interface CompareOptions {
  /** n: the capacity of each structure and the number of ids it receives first. The growth test then adds n more. */
  readonly elements: number;
  readonly falsePositiveRate: number;
  /** Seed of the ids, which are the same for every structure. */
  readonly seed: number;
  /** Default: all structures that can keep the rate. */
  readonly structures?: readonly string[] | undefined;
  /** Number of rounds, of which the fastest counts. By default small sizes are measured up to five times. */
  readonly rounds?: number | undefined;
  /** So many ids that were not added are asked for each rate, if not more were added. Default: 200,000. */
  readonly answersMin?: number | undefined;
}

/** A structure that could not be measured. */
export interface UnavailableStructure {
  readonly name: FilterName;
  /** Names the missing package and how to install it. */
  readonly reason: MissingPackageError;
}

export interface CompareResult {
  readonly structures: readonly StructureResult[];
  readonly unavailable: readonly UnavailableStructure[];
  readonly recommendations: readonly Recommendation[];
}

/**
 * Measures the structures of `src/filters` with the same random ids of 20 bytes, one after the other, so that only one
 * filter is in memory at a time. Sizes and rates depend only on the options; times also depend on the machine.
 * @throws UsageError if a structure does not exist
 */
export async function compareFilters(
  caller: Pick<Caller, 'progress' | 'signal'>,
  options: CompareOptions,
  onStructure: (result: StructureResult) => void = () => undefined,
): Promise<CompareResult> {
  const { elements, falsePositiveRate, seed, rounds, answersMin } = options;
  const contenders = selectContenders(options.structures, falsePositiveRate);
  const pacer = new Pacer(caller);
  const structures: StructureResult[] = [];
  const unavailable: UnavailableStructure[] = [];
  for (const contender of contenders) {
    beginPhase(caller.progress, `measuring ${contender.name}`);
    const reason = reasonForAbsence(contender);
    if (reason !== undefined) {
      unavailable.push({ name: contender.name, reason });
      continue;
    }
    const result = await measureStructure(contender, { elements, falsePositiveRate, seed, rounds, answersMin, pacer });
    structures.push(result);
    onStructure(result);
  }
  return { structures, unavailable, recommendations: recommend(structures, falsePositiveRate) };
}

/** Returns the reason why a structure is unavailable. */
function reasonForAbsence(contender: (typeof CONTENDERS)[number]): MissingPackageError | undefined {
  try {
    contender.make(SMALLEST);
    return undefined;
  } catch (error) {
    if (error instanceof MissingPackageError) return error;
    throw error;
  }
}

/**
 * Lets a command fail before it prints anything.
 * @throws UsageError if a structure does not exist, or cannot reach the rate
 * @throws MissingPackageError if a structure was requested by name and is unavailable
 */
export function checkStructures(names: readonly string[] | undefined, falsePositiveRate: number): void {
  for (const contender of selectContenders(names, falsePositiveRate)) {
    try {
      contender.make({ capacity: 1, falsePositiveRate, ids: 'hashed' });
    } catch (cause) {
      if (cause instanceof MissingPackageError && names === undefined) continue;
      if (!(cause instanceof UsageError)) throw cause;
      throw new UsageError(`${contender.name}: ${cause.message}`, cause.hint === undefined ? {} : { hint: cause.hint });
    }
  }
}

function selectContenders(names: readonly string[] | undefined, falsePositiveRate: number): typeof CONTENDERS {
  if (names === undefined) return CONTENDERS.filter(({ rateMin }) => rateMin <= falsePositiveRate);
  const unknown = names.find((name) => !CONTENDERS.some((contender) => contender.name === name));
  if (unknown !== undefined) {
    throw new UsageError(`unknown structure ${unknown}`, {
      hint: `The structures are ${STRUCTURE_NAMES.join(', ')}.`,
    });
  }
  return CONTENDERS.filter(({ name }) => names.includes(name));
}

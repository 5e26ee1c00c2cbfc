import { MissingPackageError, UsageError } from '../../errors.ts';
import type { FilterName } from '../../filters/membership-filter.ts';
import { Pacer, beginPhase } from '../context.ts';
import type { OperationContext } from '../context.ts';
import { CONTENDERS } from './compare/contenders.ts';
import { measureStructure } from './compare/measure-structure.ts';
import type { StructureResult } from './compare/measure-structure.ts';
import { recommend } from './compare/recommend.ts';
import type { Recommendation } from './compare/recommend.ts';

export type { ChainFigures } from './compare/contenders.ts';
export type { Fill, Filled, Growth, GrowthOutcome, StructureResult } from './compare/measure-structure.ts';
export type { Recommendation } from './compare/recommend.ts';

/** In the order of the tables: approximate ones first, the exact baselines last. */
export const STRUCTURE_NAMES: readonly FilterName[] = CONTENDERS.map(({ name }) => name);

const SMALLEST = { capacity: 1, falsePositiveRate: 0.01, ids: 'hashed' } as const;

export interface CompareOptions {
  /** n: what each structure is made for and gets. Later it gets as many again. */
  readonly elements: number;
  readonly falsePositiveRate: number;
  /** Of the ids; the same ids for every structure. */
  readonly seed: number;
  /** Only these; all by default. */
  readonly structures?: readonly string[] | undefined;
  /** How often everything is measured; the fastest counts. By default small sizes are measured up to five times. */
  readonly rounds?: number | undefined;
}

/** A structure that was not measured. */
export interface UnavailableStructure {
  readonly name: FilterName;
  /** Names the package that is missing, and how to install it. */
  readonly reason: MissingPackageError;
}

export interface CompareResult {
  readonly structures: readonly StructureResult[];
  readonly unavailable: readonly UnavailableStructure[];
  readonly recommendations: readonly Recommendation[];
}

/**
 * Measures the structures of `src/filters` on the same random ids of 20 bytes, one after the other, so that one filter
 * is held at a time. Sizes and rates depend on the options alone, times on the machine.
 * @throws UsageError for a structure that does not exist
 */
export async function compareFilters(
  context: Pick<OperationContext, 'progress' | 'signal'>,
  options: CompareOptions,
  onStructure: (result: StructureResult) => void = () => undefined,
): Promise<CompareResult> {
  const { elements, falsePositiveRate, seed, rounds } = options;
  const contenders = selectContenders(options.structures ?? STRUCTURE_NAMES);
  const pacer = new Pacer(context.signal);
  const structures: StructureResult[] = [];
  const unavailable: UnavailableStructure[] = [];
  for (const contender of contenders) {
    beginPhase(context.progress, `measuring ${contender.name}`);
    const reason = reasonForAbsence(contender);
    if (reason !== undefined) {
      unavailable.push({ name: contender.name, reason });
      continue;
    }
    const result = await measureStructure(contender, { elements, falsePositiveRate, seed, rounds, pacer });
    structures.push(result);
    onStructure(result);
  }
  return { structures, unavailable, recommendations: recommend(structures, falsePositiveRate) };
}

/** Why a structure cannot be made here. */
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
 * So that a command can refuse before it prints anything.
 * @throws UsageError for a structure that does not exist, and for a rate that one of them cannot reach
 * @throws MissingPackageError for a structure that was asked for by name and cannot be made here
 */
export function checkStructures(names: readonly string[] | undefined, falsePositiveRate: number): void {
  for (const contender of selectContenders(names ?? STRUCTURE_NAMES)) {
    try {
      contender.make({ capacity: 1, falsePositiveRate, ids: 'hashed' });
    } catch (cause) {
      if (cause instanceof MissingPackageError && names === undefined) continue;
      if (!(cause instanceof UsageError)) throw cause;
      throw new UsageError(`${contender.name}: ${cause.message}`, cause.hint === undefined ? {} : { hint: cause.hint });
    }
  }
}

function selectContenders(names: readonly string[]): typeof CONTENDERS {
  const unknown = names.find((name) => !CONTENDERS.some((contender) => contender.name === name));
  if (unknown !== undefined) {
    throw new UsageError(`unknown structure ${unknown}`, {
      hint: `The structures are ${STRUCTURE_NAMES.join(', ')}.`,
    });
  }
  return CONTENDERS.filter(({ name }) => names.includes(name));
}

import { FilterFullError } from '../../core/errors.ts';
import type { FilterName } from '../family/membership-filter.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import type { ChainFigures, Contender, Entrant, IdTreatment } from './contenders.ts';
import { MeasuredFilter, isErasable } from './measured-filter.ts';
import type { Answers, Timing } from './measured-filter.ts';

/** Sizes and rates of a filter at one fill; they are the same on every machine. */
export interface Fill extends Rates {
  readonly elements: number;
  readonly bitsPerElement: number;
  /** Number of members that the filter reported absent. Must be 0. */
  readonly falseNegatives: number;
  /** How often an exact structure searches for an absent id because its counters could not rule it out. */
  readonly counters: Rates | undefined;
}

interface Rates {
  readonly predictedRate: number;
  readonly measuredRate: number;
}

/**
 * Outcome of adding 2n elements to a structure created for n; `has-room`: its size is rounded up so far that they fit.
 */
type GrowthOutcome = 'grows' | 'has-room' | 'rate-passed' | 'full';

interface Growth extends Fill {
  readonly outcome: GrowthOutcome;
  /** Time per element beyond n; undefined if the elements did not fit. */
  readonly insertNs: number | undefined;
  readonly longestPauseMs: number | undefined;
  readonly missNs: number;
}

/** A structure with the n elements that it was created for. */
export interface Filled {
  readonly full: Fill;
  /** After deleting every second element; undefined if deletion is not supported. */
  readonly halved: Fill | undefined;
  readonly insertNs: number;
  readonly hitNs: number;
  readonly missNs: number;
  readonly deleteNs: number | undefined;
}

/** The inherited figures are for ids that the structure hashes. */
export interface StructureResult extends Filled {
  readonly name: FilterName;
  /** Whether it is on disk; all others are in memory. */
  readonly isOnDisk: boolean;
  readonly growsBy: string | undefined;
  /** What its figures are about, if not simply about a set of ids. */
  readonly measuredAs: string | undefined;
  readonly growth: Growth;
  /** The chains of an exact structure at n elements, one item per definition. */
  readonly chains: readonly ChainFigures[] | undefined;
  /** For uniform ids that are used unchanged; identical to the other figures if the structure does not hash ids. */
  readonly uniform: Filled;
  readonly hashesIds: boolean;
}

interface MeasureOptions {
  readonly elements: number;
  readonly falsePositiveRate: number;
  readonly seed: number;
  readonly rounds: number | undefined;
  readonly answersMin: number | undefined;
  readonly pacer: Pacer;
}

/** A filter under measurement. */
interface Subject {
  readonly measured: MeasuredFilter;
  readonly counters: Entrant['counters'];
  readonly chains: Entrant['chains'];
  readonly canGrow: boolean;
}

/** A rate counts as exceeded above this multiple of its target; smaller deviations are chance. */
const PASSED_FACTOR = 1.25;
/** Small sizes are measured repeatedly until this many elements have been inserted, and the fastest round counts. */
const TIMED_ELEMENTS = 200_000;
const ROUNDS_MAX = 5;

/** Measures one structure from empty to twice its capacity, with one filter in memory at a time. */
export async function measureStructure(contender: Contender, options: MeasureOptions): Promise<StructureResult> {
  const roundCount = options.rounds ?? Math.max(1, Math.min(ROUNDS_MAX, Math.ceil(TIMED_ELEMENTS / options.elements)));
  let best = await measureRound(contender, options);
  for (let round = 1; round < roundCount; round++) best = fastest(best, await measureRound(contender, options));
  const { name, isOnDisk, hashesIds, growsBy, measuredAs } = contender;
  return { name, isOnDisk, hashesIds, growsBy, measuredAs, ...best };
}

type Round = Omit<StructureResult, 'name' | 'isOnDisk' | 'hashesIds' | 'growsBy' | 'measuredAs'>;

async function measureRound(contender: Contender, options: MeasureOptions): Promise<Round> {
  const { chains, ...hashed } = await measureFilled(contender, options, 'hashed');
  const growth = await withFilter(contender, options, 'hashed', async (subject) => measureGrowth(subject, options));
  // Measuring a structure that does not hash a second time would only show the variation of its times.
  const { chains: _, ...uniform } = contender.hashesIds
    ? await measureFilled(contender, options, 'uniform')
    : { chains, ...hashed };
  return { ...hashed, chains, growth, uniform };
}

async function measureFilled(
  contender: Contender,
  options: MeasureOptions,
  ids: IdTreatment,
): Promise<Filled & Pick<StructureResult, 'chains'>> {
  return withFilter(contender, options, ids, async (subject) => {
    const { measured } = subject;
    const inserted = await measured.insert(0, options.elements);
    const hits = await measured.askMembers(0, options.elements);
    const { fill: full, misses } = await describeFill(subject, hits);
    const chains = subject.chains?.();
    const { halved, deleteNs } = await measureDeletes(subject, options.elements);
    return { full, halved, chains, insertNs: inserted.nsEach, hitNs: hits.nsEach, missNs: misses.nsEach, deleteNs };
  });
}

async function measureDeletes(subject: Subject, elements: number): Promise<Pick<Filled, 'halved' | 'deleteNs'>> {
  const { measured } = subject;
  if (!isErasable(measured.filter)) return { halved: undefined, deleteNs: undefined };
  const deleted = await measured.deleteHalf(elements);
  const remaining = await measured.askMembers(1, elements, 2);
  const { fill: halved } = await describeFill(subject, remaining);
  return { halved, deleteNs: deleted.nsEach };
}

async function measureGrowth(subject: Subject, options: MeasureOptions): Promise<Growth> {
  const { measured } = subject;
  const { elements, falsePositiveRate } = options;
  await measured.insert(0, elements);
  const inserted = await insertUntilFull(measured, elements);
  const hits = await measured.askMembers(0, measured.elements);
  const { fill, misses } = await describeFill(subject, hits);
  return {
    ...fill,
    outcome: inserted === undefined ? 'full' : outcomeOf(subject, fill, falsePositiveRate),
    insertNs: inserted?.nsEach,
    longestPauseMs: inserted?.longestPauseMs,
    missNs: misses.nsEach,
  };
}

function outcomeOf({ canGrow }: Subject, { counters, predictedRate }: Fill, target: number): GrowthOutcome {
  if ((counters?.predictedRate ?? predictedRate) > target * PASSED_FACTOR) return 'rate-passed';
  return canGrow ? 'grows' : 'has-room';
}

/** Returns undefined if the structure does not have enough room. */
async function insertUntilFull(measured: MeasuredFilter, elements: number): Promise<Timing | undefined> {
  try {
    return await measured.insert(elements, elements);
  } catch (error) {
    if (error instanceof FilterFullError) return undefined;
    throw error;
  }
}

async function describeFill({ measured, counters }: Subject, hits: Answers): Promise<{ fill: Fill; misses: Answers }> {
  const { filter, elements } = measured;
  const misses = await measured.askAbsent(elements);
  const walks = counters && (await measured.askAbsent(elements, counters.ask));
  const fill = {
    elements,
    bitsPerElement: (filter.memoryBytes * 8) / elements,
    predictedRate: filter.falsePositiveRate(),
    measuredRate: misses.positives / misses.count,
    falseNegatives: hits.count - hits.positives,
    counters: counters && { predictedRate: counters.predictedRate(), measuredRate: walks!.positives / walks!.count },
  };
  return { fill, misses };
}

/** Compares only times, because sizes and rates are the same in every round. */
function fastest(best: Round, other: Round): Round {
  return {
    ...best,
    ...fastestFilled(best, other),
    uniform: { ...best.uniform, ...fastestFilled(best.uniform, other.uniform) },
    growth: {
      ...best.growth,
      insertNs: least(best.growth.insertNs, other.growth.insertNs),
      longestPauseMs: least(best.growth.longestPauseMs, other.growth.longestPauseMs),
      missNs: Math.min(best.growth.missNs, other.growth.missNs),
    },
  };
}

function fastestFilled(best: Filled, other: Filled): Omit<Filled, 'full' | 'halved'> {
  return {
    insertNs: Math.min(best.insertNs, other.insertNs),
    hitNs: Math.min(best.hitNs, other.hitNs),
    missNs: Math.min(best.missNs, other.missNs),
    deleteNs: least(best.deleteNs, other.deleteNs),
  };
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.min(a, b);
}

async function withFilter<T>(
  contender: Contender,
  { elements, falsePositiveRate, seed, answersMin, pacer }: MeasureOptions,
  ids: IdTreatment,
  work: (subject: Subject) => Promise<T>,
): Promise<T> {
  const { filter, counters, chains, close } = contender.make({ capacity: elements, falsePositiveRate, ids });
  try {
    return await work({
      measured: new MeasuredFilter(filter, seed, pacer, answersMin),
      counters,
      chains,
      canGrow: contender.growsBy !== undefined,
    });
  } finally {
    await close?.();
  }
}

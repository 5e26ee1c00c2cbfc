import { planFilter } from '../../core/ldm/formulas.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { DomainStore } from './domain-store.ts';
import { simulateLoad } from './queue.ts';
import type { LoadFigures } from './queue.ts';
import { measurePublication } from './publication.ts';
import type { PublicationFigures } from './publication.ts';
import { measureSizes } from './structure-sizes.ts';
import type { SizeRow } from './structure-sizes.ts';

export type { NightFigures, PublicationFigures } from './publication.ts';
export type { LoadFigures } from './queue.ts';
export type { SizeRow } from './structure-sizes.ts';

/** The numbers of users of the paper. */
export const USERS: readonly number[] = [10, 20, 40, 60, 80, 100];
const DOMAINS = 8;
const RATE = 0.01;
/** The last table has this many rows, in steps of the ids of a domain. */
const SIZE_ROWS = 10;
/** The domain that publishes has as many times the chunks of the others, and this part of them changes in a night. */
const PUBLISHED_TIMES = 100;
const CHANGED_PART = 1000;
const NIGHTS = 7;

export interface LoadTestOptions {
  readonly seed: number;
  /** Number of chunks in each of the 8 domains, and of ids in the first row of the table of sizes. */
  readonly idsPerDomain: number;
  readonly lookUpsPerUser: number;
  /** Mean of the simulated service time of a question to a domain, in milliseconds. */
  readonly serviceMs: number;
  /** Number of questions that a domain serves at the same time. */
  readonly servedAtOnce: number;
  readonly signal?: AbortSignal | undefined;
}

interface LoadRow {
  readonly users: number;
  readonly inTurn: LoadFigures;
  readonly byFilter: LoadFigures;
  /** Mean time of a look-up in turn, divided by that by filter. */
  readonly speedUp: number;
}

export interface LoadTestResult {
  readonly domains: number;
  readonly falsePositiveRate: number;
  /** Memory of the planes of all domains together. */
  readonly planeBytes: number;
  readonly load: readonly LoadRow[];
  readonly sizes: readonly SizeRow[];
  readonly publication: PublicationResult;
}

/** A domain that publishes what changes each night. */
interface PublicationResult extends PublicationFigures {
  readonly elements: number;
  readonly changes: number;
}

/**
 * Measures what asking by filter saves when many users look for chunks in 8 domains, the memory of the structures for ten
 * sizes, and what a large domain publishes each night. Only the publications are on a disk. The seed determines ids, questions and sizes; times also depend a little on
 * the machine, because the look-ups themselves are measured.
 */
export async function runLoadTest(options: LoadTestOptions): Promise<LoadTestResult> {
  const { seed, idsPerDomain } = options;
  const pacer = new Pacer(options);
  const store = new DomainStore(DOMAINS, planFilter({ capacity: idsPerDomain, fpr: RATE }), seed);
  const load: LoadRow[] = [];
  for (const users of USERS) {
    const queue = { ...options, users, seed: seed + users };
    const inTurn = simulateLoad(store, 'in-turn', queue);
    const byFilter = simulateLoad(store, 'by-filter', queue);
    load.push({ users, inTurn, byFilter, speedUp: inTurn.meanMs / byFilter.meanMs });
    await pacer.pause();
  }
  const sizes: SizeRow[] = [];
  for (let row = 1; row <= SIZE_ROWS; row++) {
    sizes.push(await measureSizes({ ...options, elements: row * idsPerDomain, falsePositiveRate: RATE }));
  }
  const publication = await publish(options);
  const planeBytes = store.planes.memoryBytes;
  return { domains: DOMAINS, falsePositiveRate: RATE, planeBytes, load, sizes, publication };
}

async function publish({ seed, idsPerDomain, signal }: LoadTestOptions): Promise<PublicationResult> {
  const elements = idsPerDomain * PUBLISHED_TIMES;
  const changes = Math.max(2, Math.floor(elements / CHANGED_PART));
  const plan = planFilter({ capacity: elements, fpr: RATE });
  return { elements, changes, ...(await measurePublication({ seed, plan, changes, nights: NIGHTS, signal })) };
}

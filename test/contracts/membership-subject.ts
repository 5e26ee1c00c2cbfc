import type { MembershipFilter } from '../../src/filters/family/membership-filter.ts';
import type { Prng } from '../support/prng.ts';

export interface MembershipOptions {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/** One structure, and what is true of it. */
export interface MembershipSubject<F extends MembershipFilter> {
  make(options: MembershipOptions): F;
  load(bytes: Uint8Array): F;
  /** `has` is never true for an id that is not in. */
  readonly exact?: boolean;
  /** It is an `ErasableFilter`. */
  readonly erasable?: boolean;
  /** It is a `MergeableFilter` for others of its shape. */
  readonly mergeable?: boolean;
  /** Adding an id twice counts twice, and two deletes are needed to take it out. */
  readonly countsTwice?: boolean;
  /** A delete of an id that is in may be refused: it returns false and changes nothing. */
  readonly refusesDeletes?: boolean;
  /** `elements` is derived from the filling instead of counted. */
  readonly estimatesElements?: boolean;
  /** The prediction is an upper bound: fewer false positives than it says are no fault. */
  readonly predictsUpperBound?: boolean;
  /** Merging gives the very bytes that adding everything to one filter would give. */
  readonly mergesToSameBytes?: boolean;
  /**
   * The saved form has no checksum: then damage that leaves a valid file is not seen, and all that is asked is that what
   * loads is what the bytes say. Lengths and headers are checked all the same.
   */
  readonly lacksChecksum?: boolean;
  /** How much memory the ids take depends on the order in which they came, and a loaded one may differ in that. */
  readonly sizeDependsOnOrder?: boolean;
  /** The first query builds it; then `add` throws. */
  readonly static?: boolean;
  /** Ids have this many bytes; without it, 0 to 40. */
  readonly idBytes?: number;
  /** How many ids the test of the false positive rate puts in; its rates are 0.05 and 0.01. */
  readonly rateCapacity?: number;
}

export const SEED = 20_261_120;

export function randomId(random: Prng, subject: MembershipSubject<MembershipFilter>): Uint8Array {
  return random.bytes(subject.idBytes ?? 20);
}

export function randomIds(random: Prng, subject: MembershipSubject<MembershipFilter>, count: number): Uint8Array[] {
  return Array.from({ length: count }, () => randomId(random, subject));
}

export function filled<F extends MembershipFilter>(
  subject: MembershipSubject<F>,
  capacity: number,
  random: Prng,
): [F, Uint8Array[]] {
  const filter = subject.make({ capacity, falsePositiveRate: 0.01 });
  const ids = randomIds(random, subject, capacity);
  for (const id of ids) filter.add(id);
  return [filter, ids];
}

import { FilterFullError, UsageError } from '../../core/errors.ts';
import type { Caller } from '../../core/session/caller.ts';
import { Pacer } from '../../core/util/pacer.ts';
import type { MembershipFilter } from '../family/membership-filter.ts';
import { encodeKeyFilter, keyFilterOf, type KeyFilter } from '../keys/key-filter.ts';
import { kindNamed, type Kind } from '../keys/kinds.ts';

/** Keys in batches, each as any bytes. A batch is read once, to its end, before the next one. */
export type KeyBatches = AsyncIterable<Iterable<Uint8Array>>;

export interface MakeOptions {
  /** The name of a structure of the filter family, such as `bloom`. */
  readonly kind: string;
  /** The number of distinct keys for which the rate holds. Kinds that are built of what they get ignore it. */
  readonly expected?: number | undefined;
  /** The highest false positive rate for that number of keys, above 0 and below 1. */
  readonly falsePositiveRate: number;
  readonly keys: KeyBatches;
}

export interface MakeResult extends KeyFilter {
  /** The filter as a file, the same for the same keys in the same order. */
  readonly bytes: Uint8Array;
}

/** The longest buffer of Node 20 has 4 GiB, and a file has the filter and less than a kilobyte more. */
const FILTER_BYTES_MAX = 2 ** 32 - 2 ** 20;

/**
 * Makes a filter of keys.
 * @throws UsageError if the filter is not possible
 * @throws FilterFullError if it has no room for another key
 */
export async function makeKeyFilter(caller: Caller, options: MakeOptions): Promise<MakeResult> {
  const { falsePositiveRate, keys } = options;
  const kind = kindNamed(options.kind);
  const expected = kind.isSized ? expectedOf(options) : undefined;
  const filter = emptyFilter(kind, expected ?? 1, falsePositiveRate);
  const pacer = new Pacer(caller);
  let keysRead = 0;
  for await (const batch of keys) {
    for (const key of batch) {
      addKey(kind, filter, key);
      keysRead++;
    }
    await pacer.pause();
  }
  const made = keyFilterOf(kind, filter, { expected, falsePositiveRate, keysRead });
  return { ...made, bytes: encodeKeyFilter(made) };
}

function expectedOf({ expected, kind }: MakeOptions): number {
  if (expected !== undefined) return expected;
  throw new UsageError(`a filter of the kind ${kind} needs the number of keys in advance`);
}

function emptyFilter(kind: Kind, capacity: number, falsePositiveRate: number): MembershipFilter {
  let filter: MembershipFilter | undefined;
  try {
    filter = kind.make({ capacity, falsePositiveRate });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  // An array that is too long for the memory, or for any array.
  if (filter !== undefined && (!kind.isSized || filter.memoryBytes <= FILTER_BYTES_MAX)) return filter;
  throw new UsageError(`a filter of the kind ${kind.name} for ${capacity} keys is too large`, {
    hint: 'Expect fewer keys, allow a higher rate, or distribute the keys over several filters.',
  });
}

function addKey(kind: Kind, filter: MembershipFilter, key: Uint8Array): void {
  const prepared = kind.prepare(key);
  if (kind.isForDistinctKeys && filter.has(prepared)) return;
  try {
    filter.add(prepared);
  } catch (error) {
    if (!(error instanceof FilterFullError)) throw error;
    throw new FilterFullError(error.message, { hint: 'Expect more keys, or choose another kind.', cause: error });
  }
}

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
  /** The largest filter. Default: what a file can have. */
  readonly bytesMax?: number | undefined;
}

export interface MakeResult extends KeyFilter {
  /** The filter as a file, the same for the same keys in the same order. */
  readonly bytes: Uint8Array;
}

/** The longest buffer of Node 20 has 4 GiB, and a file has the filter and less than a kilobyte more. */
const FILTER_BYTES_MAX = 2 ** 32 - 2 ** 20;

/**
 * Makes a filter of keys.
 * @throws UsageError if the filter is not possible, or grows too large
 * @throws FilterFullError if it has no room for another key
 */
export async function makeKeyFilter(caller: Caller, options: MakeOptions): Promise<MakeResult> {
  const { falsePositiveRate, keys, bytesMax = FILTER_BYTES_MAX } = options;
  const kind = kindNamed(options.kind);
  const expected = kind.isSized ? expectedOf(options) : undefined;
  const filter = unlessTooLarge(kind, expected ?? 1, () => kind.make({ capacity: expected ?? 1, falsePositiveRate }));
  const pacer = new Pacer(caller);
  let keysRead = 0;
  const assertFits = (): void => {
    // The size of a kind that is built at the end is known then: asking for it would build it.
    if (kind.isSized && filter.memoryBytes > bytesMax) throw tooLarge(kind, Math.max(expected ?? 1, keysRead));
  };
  assertFits();
  for await (const batch of keys) {
    for (const key of batch) {
      keysRead++;
      unlessTooLarge(kind, keysRead, () => addKey(kind, filter, key));
    }
    assertFits();
    await pacer.pause();
  }
  const made = keyFilterOf(kind, filter, { expected, falsePositiveRate, keysRead });
  const bytes = unlessTooLarge(kind, keysRead, () => encodeKeyFilter(made));
  if (bytes.length > bytesMax) throw tooLarge(kind, keysRead);
  return { ...made, bytes };
}

function expectedOf({ expected, kind }: MakeOptions): number {
  if (expected !== undefined) return expected;
  throw new UsageError(`a filter of the kind ${kind} needs the number of keys in advance`);
}

/** A `RangeError` is that of an array that is too long for the memory, or for any array. */
function unlessTooLarge<T>(kind: Kind, keyCount: number, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof RangeError ? tooLarge(kind, keyCount) : error;
  }
}

function tooLarge({ name }: Kind, keyCount: number): UsageError {
  return new UsageError(`a filter of the kind ${name} for ${keyCount} keys is too large`, {
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

import { CorruptDataError, UnsupportedFormatError } from '../../core/errors.ts';
import type { FilterName, MembershipFilter } from '../family/membership-filter.ts';
import type { SlotTrace, Trace } from '../family/trace.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber, savedNameOf } from '../family/saved-filter.ts';
import { isTraceable, KINDS, kindNamed, type Kind, type KindFigures } from './kinds.ts';

/** A filter of keys, which are any bytes. */
export interface KeyFilter {
  readonly kind: FilterName;
  readonly filter: MembershipFilter;
  /** How it was made; undefined if another program saved the filter. */
  readonly made: MadeOf | undefined;
  /** What only this kind has. */
  readonly figures: KindFigures;
  /** Whether a key was added, or perhaps was, unless `falsePositiveRate` of the filter is 0. */
  has(key: Uint8Array): boolean;
  /** What `has` reads; undefined for kinds that have nothing to draw. */
  trace(key: Uint8Array): Trace | SlotTrace | undefined;
}

/** What a filter was made of. */
export interface MadeOf {
  /** The number of keys that it was made for; undefined if its kind needs none. */
  readonly expected: number | undefined;
  /** The rate that it was made for. */
  readonly falsePositiveRate: number;
  /** The number of keys that were read, copies included. */
  readonly keysRead: number;
}

export function keyFilterOf(kind: Kind, filter: MembershipFilter, made: MadeOf | undefined): KeyFilter {
  // Only the command that makes filters of keys prepares them. Another program has added what it asks for.
  const prepare: Kind['prepare'] = made === undefined ? (key) => key : kind.prepare;
  return {
    kind: kind.name,
    filter,
    made,
    figures: kind.figures(filter),
    has: (key) => filter.has(prepare(key)),
    trace: (key) => (isTraceable(filter) ? filter.trace(prepare(key)) : undefined),
  };
}

/**
 * Encodes the filter with how it was made, in the form of the saved filters: the numbers are the expected number of
 * keys (0: none), the rate and the number of keys read; the arrays are the name of the kind and its saved bytes.
 */
export function encodeKeyFilter({ kind, filter, made }: KeyFilter): Uint8Array {
  const { expected = 0, falsePositiveRate = 0, keysRead = 0 } = made ?? {};
  return encodeSaved('key', [expected, falsePositiveRate, keysRead], [Buffer.from(kind, 'latin1'), filter.save()]);
}

/** Whether the bytes begin like a filter of keys, or like a filter that a class of the library saved. */
export function isKeyFilter(bytes: Uint8Array): boolean {
  return savedNameOf(bytes) !== undefined;
}

/** Whether the bytes begin like a filter of chunk ids in this form, as `filter export` writes it. */
export function isExportedFilter(bytes: Uint8Array): boolean {
  return savedNameOf(bytes)?.startsWith('binary-fuse-') === true;
}

/**
 * Decodes the output of `encodeKeyFilter`, or of `save` of a class of the library that has a kind.
 * @throws CorruptDataError if the bytes are damaged, cut short or something else
 * @throws UnsupportedFormatError if the kind is unknown
 */
export function decodeKeyFilter(bytes: Uint8Array): KeyFilter {
  const name = savedNameOf(bytes);
  if (name === undefined) throw new CorruptDataError('it does not begin like a saved filter');
  if (name !== 'key') {
    // The name may be damaged.
    if (!isKnown(name)) decodeSaved(name as FilterName, bytes);
    const kind = knownKind(name);
    return keyFilterOf(kind, kind.load(bytes), undefined);
  }
  const { numbers, arrays } = decodeSaved('key', bytes);
  const [expected, falsePositiveRate, keysRead] = numbers;
  const isPlausible =
    numbers.length === 3 &&
    arrays.length === 2 &&
    isWholeNumber(expected, 0, Number.MAX_SAFE_INTEGER) &&
    isWholeNumber(keysRead, 0, Number.MAX_SAFE_INTEGER) &&
    falsePositiveRate! > 0 &&
    falsePositiveRate! < 1;
  checkSaved(isPlausible, 'key', 'its numbers are inconsistent');
  const kind = knownKind(Buffer.from(arrays[0]!).toString('latin1'));
  const made = { expected: expected === 0 ? undefined : expected, falsePositiveRate: falsePositiveRate!, keysRead };
  return keyFilterOf(kind, kind.load(arrays[1]!), made);
}

function isKnown(name: string): boolean {
  return KINDS.some((kind) => kind.name === name);
}

function knownKind(name: string): Kind {
  if (isKnown(name)) return kindNamed(name);
  throw new UnsupportedFormatError(`its kind, ${JSON.stringify(name)}, cannot be used for keys`, {
    hint: `A filter of keys is one of ${KINDS.map((kind) => kind.name).join(', ')}.`,
  });
}

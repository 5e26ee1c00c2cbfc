import { CorruptDataError, LdmError, UnsupportedFormatError, UsageError } from '../../core/errors.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { SortedIds } from '../family/sorted-ids.ts';
import { decodeKeyFilter, isKeyFilter, keyFilterOf, type KeyFilter } from './key-filter.ts';
import { kindNamed } from './kinds.ts';

/**
 * Opens a filter of keys: from `makeKeyFilter`, from `save` of a class of the filter library, or a Guava filter with the
 * byte-array or string funnel. `name`: of the file, for errors.
 * @throws UsageError for a list of chunk ids
 * @throws CorruptDataError if the bytes are damaged, cut short, or no filter
 * @throws UnsupportedFormatError if it is a filter that cannot have keys
 */
export function openKeyFilter(bytes: Uint8Array, name: string): KeyFilter {
  if (SortedIds.isRecognised(bytes)) {
    throw new UsageError(`${name} is a list of chunk ids, not a filter of keys`, { hint: 'Ask it for chunk ids.' });
  }
  try {
    if (isKeyFilter(bytes)) return decodeKeyFilter(bytes);
    return keyFilterOf(kindNamed('bloom'), BloomFilter.load(bytes), undefined);
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    const message = `${name}: ${error.message}`;
    if (error instanceof UnsupportedFormatError)
      throw new UnsupportedFormatError(message, { ...hintOf(error), cause: error });
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(message, { advice: { code: 'use-made-filter' }, cause: error });
  }
}

function hintOf({ hint }: LdmError): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}

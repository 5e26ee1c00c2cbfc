import { ByteReader } from '../../core/format/byte-reader.ts';
import type { FilterName } from './membership-filter.ts';
import { checkSaved, decodeSaved, encodeSaved } from './saved-filter.ts';

const LENGTH_BYTES = 4;

/** The saved form of an exact set: its ids in sequence, each preceded by its length (u32). */
export function encodeIds(name: FilterName, ids: () => Iterable<Uint8Array>): Uint8Array {
  let sizeBytes = 0;
  let count = 0;
  for (const id of ids()) {
    sizeBytes += LENGTH_BYTES + id.length;
    count++;
  }
  const bytes = Buffer.alloc(sizeBytes);
  let at = 0;
  for (const id of ids()) {
    at = bytes.writeUInt32LE(id.length, at);
    bytes.set(id, at);
    at += id.length;
  }
  return encodeSaved(name, [count], [bytes]);
}

/**
 * Passes each saved id to `visit` as a view of the bytes and returns the number of ids.
 * @throws CorruptDataError if `encodeIds` did not write the bytes under this name
 */
export function decodeIds(name: FilterName, bytes: Uint8Array, visit: (id: Uint8Array) => void): number {
  const { numbers, arrays } = decodeSaved(name, bytes);
  checkSaved(numbers.length === 1 && arrays.length === 1, name, 'it is not a list of ids');
  const reader = new ByteReader(arrays[0]!, `saved ${name} filter`);
  let count = 0;
  for (; reader.remaining > 0; count++) visit(reader.view(reader.u32()));
  checkSaved(count === numbers[0], name, 'the number of ids does not match');
  return count;
}

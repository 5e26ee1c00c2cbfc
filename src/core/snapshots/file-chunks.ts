import { CorruptDataError } from '../errors.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { StateReader } from '../repository/state-reader.ts';

/**
 * Returns the numbers of the chunks of a file in the filter. Throws `CorruptDataError` if the repository lacks one of
 * them, or if their lengths do not add up to the size of the file.
 */
export function chunksOfFile(
  { state, reader }: { readonly state: FilterState; readonly reader: StateReader },
  { chunkIds, sizeBytes }: { readonly chunkIds: Uint8Array; readonly sizeBytes: number },
): number[] {
  const entries: number[] = [];
  let storedBytes = 0;
  for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES) {
    const entry = reader.entryOf(chunkIds, offset);
    entries.push(entry);
    storedBytes += state.filter.lengthOf(entry);
  }
  if (storedBytes === sizeBytes) return entries;
  throw new CorruptDataError(`it has ${sizeBytes} bytes according to the snapshot, but its chunks have ${storedBytes}`);
}

import { isAbsent, isDamage } from '../errors.ts';
import type { ChunkLocation } from '../ldm/ldm-filter.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { forEachChunk } from '../format/packed-block.ts';
import type { PackContents } from '../format/pack.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { prefetch } from '../util/prefetch.ts';
import { segmentIdsOf } from './listing.ts';
import { optionalNames } from './own-listing.ts';
import { readSegment } from './manifests.ts';

/** A location of a chunk other than the one in the filter state. */
export type OtherCopy = Pick<ChunkLocation, 'blockOffset' | 'offsetInBlock' | 'lengthBytes' | 'storedBytes'> & {
  readonly packId: string;
  readonly packBytes: number;
  readonly kind: ChunkKind;
};

/**
 * Returns a function for `findOtherCopies`. It is made here, so that it does not keep whatever else its caller has: each state
 * of a long process would keep the one before.
 */
export function copyFinder(place: FilePlace, state: FilterState): () => Promise<Map<string, OtherCopy[]>> {
  return async () => findOtherCopies(place, state);
}

/**
 * Returns all further locations of chunks that are stored more than once, by hex id. Reads all segments, including
 * condemned ones, so it is called only after damage was found. Second copies are rare: they come from simultaneous
 * backups, or from a backup that stored a damaged chunk again.
 */
export async function findOtherCopies(place: FilePlace, state: FilterState): Promise<Map<string, OtherCopy[]>> {
  const { backend } = place;
  const copies = new Map<string, OtherCopy[]>();
  const seen = new Set<string>();
  const ids = segmentIdsOf(await optionalNames(backend, 'index'));
  const read = async (id: string): Promise<PackContents[]> => readSegment(place, id);
  for await (const [, segment] of prefetch(ids, backend.readsAtOnce, read)) {
    try {
      for (const pack of await segment) {
        if (seen.has(pack.id)) continue;
        seen.add(pack.id);
        addCopies(copies, state, pack);
      }
    } catch (error) {
      const isGone = isAbsent(error);
      if (!isGone && !isDamage(error)) throw error;
    }
  }
  return copies;
}

function addCopies(copies: Map<string, OtherCopy[]>, { filter, packs }: FilterState, pack: PackContents): void {
  for (const block of pack.blocks) {
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes, storedBytes) => {
      const entry = filter.find(block.chunkIds, idOffset);
      if (entry < 0 || !filter.hasLocation(entry)) return;
      const packIndex = filter.packIndexOf(entry);
      const { blockOffset, offsetInBlock: knownOffset } = filter.location(entry);
      const isKnownPlace = blockOffset === block.offset && knownOffset === offsetInBlock;
      if (isKnownPlace && packs.has(packIndex) && packs.get(packIndex).id === pack.id) return;
      const id = Buffer.from(block.chunkIds.subarray(idOffset, idOffset + CHUNK_ID_BYTES)).toString('hex');
      const place = { packId: pack.id, packBytes: pack.sizeBytes, blockOffset: block.offset, offsetInBlock };
      const copy = { ...place, kind: pack.kind, lengthBytes, storedBytes };
      copies.set(id, [...(copies.get(id) ?? []), copy]);
    });
  }
}

import type { ObjectReader } from '../backend/backend.ts';
import { idsOf, segmentIdsOf } from './listing.ts';
import type { Listing } from './listing.ts';
import { optionalNames } from './own-listing.ts';

/**
 * Returns whether the place still has the segments and snapshots of a listing, and nothing is condemned. Then the state
 * that was opened from the listing is still that of the repository, and can answer without a lock: whatever is stored,
 * deleted or reclaimed changes one of these names, and no name is used twice for different contents. Packs are not
 * listed, which takes most of the time: one that another program or a fault of the disk has removed goes unnoticed.
 */
export async function isListingCurrent(backend: ObjectReader, listing: Listing): Promise<boolean> {
  if ((await optionalNames(backend, 'condemned')).length > 0) return false;
  const segmentIds = segmentIdsOf(await optionalNames(backend, 'index'));
  if (!areEqual(segmentIds, listing.segmentIds)) return false;
  return areEqual(idsOf(await optionalNames(backend, 'snapshots')), listing.snapshotIds);
}

function areEqual(ids: readonly string[], others: readonly string[]): boolean {
  return ids.length === others.length && ids.every((id, index) => id === others[index]);
}

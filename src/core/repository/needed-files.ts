import type { Needs, Verify } from '../backend/backend.ts';
import { needsOfBoth, withNeeds } from '../backend/publication.ts';

/** Files that must be there besides the lock, with their smallest sizes. */
export type NeededFiles = Pick<Needs, 'sizes' | 'onMet'>;

/**
 * Returns `look` as what verifies a step that needs the lock and these files, so that the place can look for them itself.
 * `files`: undefined if only `look` can tell.
 */
export function needing(assertLocked: Verify, look: () => Promise<void>, files: () => NeededFiles | undefined): Verify {
  return withNeeds(look, () => needsOfBoth(assertLocked.needs?.(), files()));
}

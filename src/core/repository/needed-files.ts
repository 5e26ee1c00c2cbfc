import type { Needs, Verify } from '../backend/backend.ts';
import { needsOfBoth, withNeeds } from '../backend/publication.ts';
import type { RepositoryLock } from './locks/lock.ts';

/** Files that must be there besides the lock, with their smallest sizes. */
export type NeededFiles = Pick<Needs, 'sizes' | 'onMet'>;

/**
 * Returns `look` as what verifies a step that needs the lock and these files, so that the place can look for them itself.
 * `files`: undefined if only `look` can tell.
 */
export function needing(assertLocked: Verify, look: () => Promise<void>, files: () => NeededFiles | undefined): Verify {
  return withNeeds(look, () => needsOfBoth(assertLocked.needs?.(), files()));
}

/** Returns a function that throws unless a lock is held. */
export function holding(lock: () => RepositoryLock): Verify {
  return withNeeds(
    async () => lock().assertHeld(),
    () => lock().needs,
  );
}

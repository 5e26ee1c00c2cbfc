import type { Backend } from '../backend/backend.ts';
import { openBackend } from '../../places/open-backend.ts';
import type { OpenPlace } from '../groups/open-groups.ts';

/** Opens the place of another repository. `open`: instead of how any directory or server is opened. */
export async function openPlace(place: string, open: OpenPlace = openBackend): Promise<Backend> {
  return await open(place);
}

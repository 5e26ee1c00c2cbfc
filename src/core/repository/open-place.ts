import type { Backend } from '../backend/backend.ts';
import { openPlace as openAnyPlace } from '../backend/place-opener.ts';
import type { OpenPlace } from '../backend/place-opener.ts';

/** Opens the place of another repository. `open`: instead of how any directory or server is opened. */
export async function openPlace(place: string, open: OpenPlace = openAnyPlace): Promise<Backend> {
  return await open(place);
}

import { LdmError } from '../errors.ts';
import type { Backend } from './backend.ts';

/** Opens a place: a directory, or one on another machine. */
export type OpenPlace = (place: string) => Promise<Backend>;

let current: OpenPlace | undefined;

/** Called once by the program and by the library, which know all kinds of places. */
export function setPlaceOpener(open: OpenPlace): void {
  current = open;
}

/** Opens the place of another repository or of a group, as any place is opened. */
export async function openPlace(place: string): Promise<Backend> {
  if (current === undefined) throw new LdmError('this program was built without places');
  return await current(place);
}

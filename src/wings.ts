import { setExtension } from './core/session/extension.ts';
import { setPlaceOpener } from './core/backend/place-opener.ts';
import { realmExtension } from './realm/extension.ts';

/**
 * Tells the engine what it may use but does not know: how to open any kind of place, and realms. Loads none of that: the
 * program calls it before it knows the command.
 */
export function registerWings(): void {
  setPlaceOpener(async (place) => {
    const { openBackend } = await import('./places/open-backend.ts');
    return await openBackend(place);
  });
  setExtension(realmExtension);
}

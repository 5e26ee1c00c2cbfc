import { packDigestOf } from '../../crypto/pack-digest.ts';
import { CorruptDataError, UnsupportedFormatError } from '../../errors.ts';
import type { PackContents } from '../../format/pack.ts';
import type { Repository } from '../../repository/repository.ts';
import { packName, readPackContents } from '../../store/pack-reader.ts';

/**
 * Reads the contents listed in the footer of a pack. Returns undefined if the pack is damaged. Throws if it is intact
 * but of a newer format.
 */
export async function readSoundFooter(
  { backend, config }: Repository,
  id: string,
  isFinding: (error: unknown) => boolean = (error) => error instanceof CorruptDataError,
): Promise<PackContents | undefined> {
  try {
    return await readPackContents(backend, id);
  } catch (error) {
    if (isFinding(error)) return undefined;
    if (!(error instanceof UnsupportedFormatError)) throw error;
    const bytes = await backend.read(packName(id));
    if (packDigestOf(config.packHash, bytes) === id) throw error;
    return undefined;
  }
}

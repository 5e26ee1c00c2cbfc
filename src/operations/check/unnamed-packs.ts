import { createHash } from 'node:crypto';
import type { Backend } from '../../backend/backend.ts';
import { CorruptDataError, UnsupportedFormatError } from '../../errors.ts';
import type { PackContents } from '../../format/pack.ts';
import { packName, readPackContents } from '../../store/pack-reader.ts';

/** What a pack says that it holds; undefined if it is damaged. Throws for a sound pack of a newer format. */
export async function readSoundFooter(
  backend: Backend,
  id: string,
  isFinding: (error: unknown) => boolean = (error) => error instanceof CorruptDataError,
): Promise<PackContents | undefined> {
  try {
    return await readPackContents(backend, id);
  } catch (error) {
    if (isFinding(error)) return undefined;
    if (!(error instanceof UnsupportedFormatError)) throw error;
    const bytes = await backend.read(packName(id));
    if (createHash('sha256').update(bytes).digest('hex') === id) throw error;
    return undefined;
  }
}

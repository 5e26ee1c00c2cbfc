import { packDigestOf } from '../../crypto/pack-digest.ts';
import type { PackHash } from '../../crypto/pack-digest.ts';
import { sha256 } from '../../crypto/sha256.ts';
import type { Backend } from '../../backend/backend.ts';
import { readSurely } from '../../backend/sure-reading.ts';
import { CorruptDataError, isAbsent, isDamage } from '../../errors.ts';
import { FILE_ID_BYTES } from '../../format/constants.ts';
import { baseName, directoryOf, isCommitName, isId } from '../../format/layout.ts';

/**
 * Returns the bytes of a file as they are stored, if they are what the file says of itself: its name is their digest, or
 * its last bytes are that of the others. A hold says nothing.
 * @throws CorruptDataError
 */
export function assertNamed(name: string, bytes: Uint8Array, packHash: PackHash): Uint8Array {
  if (digestMatches(name, bytes, packHash)) return bytes;
  throw new CorruptDataError(`${name} is damaged`);
}

/** Reads a file of the repository. Returns undefined if it is damaged or gone. */
export async function readNamed(own: Backend, name: string, packHash: PackHash): Promise<Uint8Array | undefined> {
  try {
    return await readSurely(own, name, async (from) => assertNamed(name, await from.read(name), packHash));
  } catch (error) {
    if (isAbsent(error) || isDamage(error)) return undefined;
    throw error;
  }
}

function digestMatches(name: string, bytes: Uint8Array, packHash: PackHash): boolean {
  const id = baseName(name);
  if (directoryOf(name).startsWith('packs/')) return packDigestOf(packHash, bytes) === id;
  if (isId(id)) return sha256(bytes) === id;
  if (!isCommitName(name)) return true;
  return sha256(bytes.subarray(0, -FILE_ID_BYTES)) === Buffer.from(bytes.subarray(-FILE_ID_BYTES)).toString('hex');
}

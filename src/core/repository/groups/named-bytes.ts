import { packDigestOf } from '../../crypto/pack-digest.ts';
import type { PackHash } from '../../crypto/pack-digest.ts';
import { sha256 } from '../../crypto/sha256.ts';
import { CorruptDataError } from '../../errors.ts';
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

function digestMatches(name: string, bytes: Uint8Array, packHash: PackHash): boolean {
  const id = baseName(name);
  if (directoryOf(name).startsWith('packs/')) return packDigestOf(packHash, bytes) === id;
  if (isId(id)) return sha256(bytes) === id;
  if (!isCommitName(name)) return true;
  return sha256(bytes.subarray(0, -FILE_ID_BYTES)) === Buffer.from(bytes.subarray(-FILE_ID_BYTES)).toString('hex');
}

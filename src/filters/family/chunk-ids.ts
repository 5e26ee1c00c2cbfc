import { createHash } from 'node:crypto';
import { ID_BYTES } from '../../core/ldm/positions.ts';

/**
 * Returns 20 bytes that represent an id in structures with slots of that size: a chunk id unchanged, or the first 20
 * bytes of the SHA-256 of an id of another length.
 */
export function toChunkId(id: Uint8Array): Uint8Array {
  return id.length === ID_BYTES ? id : createHash('sha256').update(id).digest().subarray(0, ID_BYTES);
}

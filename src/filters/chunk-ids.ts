import { createHash } from 'node:crypto';
import { ID_BYTES } from '../filter/positions.ts';

/**
 * The 20 bytes that stand for an id where a structure keeps whole ids in slots of that size: a chunk id is taken as it
 * is, an id of another length by the first 20 bytes of its SHA-256.
 */
export function toChunkId(id: Uint8Array): Uint8Array {
  return id.length === ID_BYTES ? id : createHash('sha256').update(id).digest().subarray(0, ID_BYTES);
}

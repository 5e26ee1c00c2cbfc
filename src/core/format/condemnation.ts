import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../errors.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import {
  CONDEMNATION_HEADER_BYTES,
  CONDEMNATION_MAGIC,
  CONDEMNATION_VERSION,
  FILE_ID_BYTES,
  NONCE_BYTES,
} from './constants.ts';

/** Hex ids of segments and packs that are about to be removed. No backup may start to rely on them. */
export interface Condemned {
  readonly segmentIds: readonly string[];
  readonly packIds: readonly string[];
  /** Ids of damaged segments and packs in these lists. Their files move to quarantine/ instead of being deleted. */
  readonly damagedIds: readonly string[];
}

/**
 * Encodes a condemnation, which is named by the SHA-256 of its bytes. `nonce`: 16 random bytes, so that no name is
 * reused.
 */
export function encodeCondemnation({ segmentIds, packIds, damagedIds }: Condemned, nonce: Uint8Array): Buffer {
  assert(nonce.length === NONCE_BYTES);
  const ids = [...segmentIds, ...packIds, ...damagedIds];
  const writer = new ByteWriter(CONDEMNATION_HEADER_BYTES + ids.length * FILE_ID_BYTES);
  writer.latin1(CONDEMNATION_MAGIC);
  writer.u32(CONDEMNATION_VERSION);
  writer.u32(segmentIds.length);
  writer.u32(packIds.length);
  writer.u32(damagedIds.length);
  writer.bytes(nonce);
  for (const id of ids) {
    assert(/^[0-9a-f]{64}$/.test(id), 'segments and packs are named by 64 hex digits');
    writer.bytes(Buffer.from(id, 'hex'));
  }
  return writer.finish();
}

/**
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeCondemnation(bytes: Uint8Array, what = 'condemnation'): Condemned {
  const reader = new ByteReader(bytes, what);
  reader.magic(CONDEMNATION_MAGIC);
  const version = reader.u32();
  if (version !== CONDEMNATION_VERSION) {
    throw new UnsupportedFormatError(`${what}: condemnation version ${version} is not supported`);
  }
  const segmentCount = reader.u32();
  const packCount = reader.u32();
  const damagedCount = reader.u32();
  reader.view(NONCE_BYTES);
  const expectedBytes = CONDEMNATION_HEADER_BYTES + (segmentCount + packCount + damagedCount) * FILE_ID_BYTES;
  if (bytes.length !== expectedBytes) reader.fail(`${bytes.length} bytes long instead of ${expectedBytes}`);
  const readIds = (count: number): string[] => Array.from({ length: count }, () => reader.hex(FILE_ID_BYTES));
  const segmentIds = readIds(segmentCount);
  const packIds = readIds(packCount);
  const damagedIds = readIds(damagedCount);
  reader.end();
  const listed = new Set([...segmentIds, ...packIds]);
  if (!damagedIds.every((id) => listed.has(id))) reader.fail('a damaged file is not in the list');
  return { segmentIds, packIds, damagedIds };
}

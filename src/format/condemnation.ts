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

/** Segments and packs, by hex id, that are about to be removed: no backup may newly rely on them. */
export interface Condemned {
  readonly segmentIds: readonly string[];
  readonly packIds: readonly string[];
}

/** The bytes of a condemnation; its name is their SHA-256. `nonce`: 16 random bytes, so that no name is used twice. */
export function encodeCondemnation({ segmentIds, packIds }: Condemned, nonce: Uint8Array): Buffer {
  assert(nonce.length === NONCE_BYTES);
  const ids = [...segmentIds, ...packIds];
  const writer = new ByteWriter(CONDEMNATION_HEADER_BYTES + ids.length * FILE_ID_BYTES);
  writer.latin1(CONDEMNATION_MAGIC);
  writer.u32(CONDEMNATION_VERSION);
  writer.u32(segmentIds.length);
  writer.u32(packIds.length);
  writer.bytes(nonce);
  for (const id of ids) {
    assert(/^[0-9a-f]{64}$/.test(id), 'segments and packs are named by 64 hex digits');
    writer.bytes(Buffer.from(id, 'hex'));
  }
  return writer.finish();
}

/**
 * @throws CorruptDataError
 * @throws UnsupportedFormatError for another version
 */
export function decodeCondemnation(bytes: Uint8Array, what = 'condemnation'): Condemned {
  const reader = new ByteReader(bytes, what);
  reader.magic(CONDEMNATION_MAGIC);
  const version = reader.u32();
  if (version !== CONDEMNATION_VERSION) {
    throw new UnsupportedFormatError(`${what}: version ${version} of condemnations is not known`);
  }
  const segmentCount = reader.u32();
  const packCount = reader.u32();
  reader.view(NONCE_BYTES);
  const expectedBytes = CONDEMNATION_HEADER_BYTES + (segmentCount + packCount) * FILE_ID_BYTES;
  if (bytes.length !== expectedBytes) reader.fail(`${bytes.length} bytes long instead of ${expectedBytes}`);
  const readIds = (count: number): string[] => Array.from({ length: count }, () => reader.hex(FILE_ID_BYTES));
  const condemned = { segmentIds: readIds(segmentCount), packIds: readIds(packCount) };
  reader.end();
  return condemned;
}

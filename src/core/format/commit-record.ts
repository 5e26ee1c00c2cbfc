import { UnsupportedFormatError } from '../errors.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { COMMIT_HEADER_BYTES, COMMIT_MAGIC, COMMIT_VERSION, FILE_ID_BYTES } from './constants.ts';

/** Says which snapshots were committed, so that one that is missing from a listing is looked for by its name. */
export interface CommitRecord {
  /** That in the name of the record. */
  readonly number: number;
  /** Whether it takes the place of all records with lower numbers. */
  readonly isWhole: boolean;
  /** Hex ids. */
  readonly snapshotIds: readonly string[];
}

export function encodeCommitRecord({ number, isWhole, snapshotIds }: CommitRecord): Buffer {
  const length = COMMIT_HEADER_BYTES + snapshotIds.length * FILE_ID_BYTES;
  const writer = new ByteWriter(length);
  writer.latin1(COMMIT_MAGIC);
  writer.u32(COMMIT_VERSION);
  writer.u32(isWhole ? 1 : 0);
  writer.u64(number);
  writer.u32(snapshotIds.length);
  writer.u32(0);
  for (const id of snapshotIds) writer.bytes(Buffer.from(id, 'hex'));
  return writer.finish();
}

/**
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeCommitRecord(bytes: Uint8Array, what = 'commit record'): CommitRecord {
  const reader = new ByteReader(bytes, what);
  reader.magic(COMMIT_MAGIC);
  const version = reader.u32();
  if (version !== COMMIT_VERSION) {
    throw new UnsupportedFormatError(`${what}: commit record version ${version} is not supported`);
  }
  const kind = reader.u32();
  if (kind > 1) reader.fail(`its kind is ${kind}`);
  const number = reader.u64();
  const count = reader.u32();
  reader.zeros(4);
  const length = COMMIT_HEADER_BYTES + count * FILE_ID_BYTES;
  if (bytes.length !== length) reader.fail(`${bytes.length} bytes long instead of ${length}`);
  const snapshotIds = Array.from({ length: count }, () => reader.hex(FILE_ID_BYTES));
  reader.end();
  return { number, isWhole: kind === 1, snapshotIds };
}

import { createHash } from 'node:crypto';
import { CorruptDataError } from '../../core/errors.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';

/**
 * The raw export format for the ids of a repository, exact unlike a Bloom filter (docs/filters.md): 8 bytes
 * "LDMIDS1\n", the number of ids as a 64-bit little-endian integer, the ids of 20 bytes each in ascending byte order,
 * and the SHA-256 of all preceding bytes.
 */
const MAGIC = Buffer.from('LDMIDS1\n', 'latin1');
const COUNT_OFFSET = MAGIC.length;
const IDS_OFFSET = COUNT_OFFSET + 8;
const CHECKSUM_BYTES = 32;

/** Buckets by the first two bytes; ids are uniform, so each bucket is small. */
const BUCKET_COUNT = 2 ** 16;

/** A sorted list of ids with binary search and without false positives. */
export class SortedIds {
  readonly #ids: Buffer;

  private constructor(ids: Uint8Array) {
    this.#ids = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  }

  /** Whether the bytes start like this format. Only `load` verifies them. */
  static isRecognised(bytes: Uint8Array): boolean {
    return bytes.length >= MAGIC.length && MAGIC.equals(bytes.subarray(0, MAGIC.length));
  }

  /**
   * Keeps a view of the bytes.
   * @throws CorruptDataError if `encodeSortedIds` did not write the bytes
   */
  static load(bytes: Uint8Array): SortedIds {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!SortedIds.isRecognised(view)) throw damaged('it does not start with the expected header');
    if (view.length < IDS_OFFSET + CHECKSUM_BYTES) throw damaged('it is truncated');
    const end = view.length - CHECKSUM_BYTES;
    const count = view.readBigUInt64LE(COUNT_OFFSET);
    if (count * BigInt(ID_BYTES) !== BigInt(end - IDS_OFFSET)) {
      throw damaged(`its header says ${count} ids, but it is ${view.length} bytes long`);
    }
    if (!checksumOf(view.subarray(0, end)).equals(view.subarray(end))) throw damaged('wrong checksum');
    const ids = view.subarray(IDS_OFFSET, end);
    for (let at = ID_BYTES; at < ids.length; at += ID_BYTES) {
      if (ids.compare(ids, at - ID_BYTES, at, at, at + ID_BYTES) <= 0) {
        throw damaged(`id ${at / ID_BYTES} is not above the one before it`);
      }
    }
    return new SortedIds(ids);
  }

  get count(): number {
    return this.#ids.length / ID_BYTES;
  }

  /** Exact; an id of another length is never in the list. */
  has(id: Uint8Array): boolean {
    if (id.length !== ID_BYTES) return false;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const order = this.#ids.compare(id, 0, ID_BYTES, middle * ID_BYTES, (middle + 1) * ID_BYTES);
      if (order === 0) return true;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return false;
  }
}

/** @param ids - 20 bytes each, distinct, in any order */
export function encodeSortedIds(ids: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(IDS_OFFSET + ids.length + CHECKSUM_BYTES);
  MAGIC.copy(bytes);
  bytes.writeBigUInt64LE(BigInt(ids.length / ID_BYTES), COUNT_OFFSET);
  sortIdsInto(ids, bytes.subarray(IDS_OFFSET, IDS_OFFSET + ids.length));
  const end = IDS_OFFSET + ids.length;
  checksumOf(bytes.subarray(0, end)).copy(bytes, end);
  return bytes;
}

/** Sorts by the first two bytes with a counting sort, then each bucket by comparison. */
function sortIdsInto(ids: Uint8Array, target: Uint8Array): void {
  const starts = new Uint32Array(BUCKET_COUNT + 1);
  for (let at = 0; at < ids.length; at += ID_BYTES) starts[bucketAt(ids, at) + 1]!++;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) starts[bucket + 1]! += starts[bucket]!;
  const order = new Uint32Array(ids.length / ID_BYTES);
  const next = starts.slice(0, BUCKET_COUNT);
  for (let index = 0; index < order.length; index++) order[next[bucketAt(ids, index * ID_BYTES)]!++] = index;
  let end = 0;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
    if (starts[bucket] === starts[bucket + 1]) continue;
    const inBucket = [...order.subarray(starts[bucket], starts[bucket + 1])].map((index) =>
      ids.subarray(index * ID_BYTES, (index + 1) * ID_BYTES),
    );
    for (const id of inBucket.sort((a, b) => Buffer.compare(a, b))) {
      target.set(id, end);
      end += ID_BYTES;
    }
  }
}

function bucketAt(ids: Uint8Array, at: number): number {
  return ids[at]! * 256 + ids[at + 1]!;
}

function checksumOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function damaged(reason: string): CorruptDataError {
  return new CorruptDataError(`not a list of chunk ids: ${reason}`, { hint: 'Export it again.' });
}

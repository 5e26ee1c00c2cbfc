import { createHash } from 'node:crypto';

import { NIL } from '../../src/core/ldm/entry-table.ts';
import { checksumOf } from '../../src/core/format/byte-reader.ts';
import {
  CHECKPOINT_DIGEST_BYTES,
  CHECKPOINT_ENTRY_BYTES,
  CHECKPOINT_HEADER_BYTES,
  CHECKPOINT_HEADER_CHECKSUM_OFFSET,
  CHECKPOINT_HEAD_BYTES,
  CHECKPOINT_PACK_BYTES,
  decodeCheckpointHeader,
} from '../../src/core/format/checkpoint.ts';
import type { CheckpointHeader } from '../../src/core/format/checkpoint.ts';
import { FILE_ID_BYTES } from '../../src/core/format/constants.ts';

/** Where the parts of a checkpoint are; the next begins where one ends. */
export interface CheckpointParts {
  readonly header: CheckpointHeader;
  readonly segments: number;
  readonly absentPacks: number;
  readonly snapshots: number;
  readonly packs: number;
  readonly counters: number;
  readonly liveHeads: number;
  readonly deadHeads: number;
  readonly entries: number;
  readonly digest: number;
}

export function partsOf(image: Buffer): CheckpointParts {
  const header = decodeCheckpointHeader(image.subarray(0, CHECKPOINT_HEADER_BYTES));
  const segments = CHECKPOINT_HEADER_BYTES;
  const absentPacks = segments + header.segmentCount * FILE_ID_BYTES;
  const snapshots = absentPacks + header.absentPackCount * FILE_ID_BYTES;
  const packs = snapshots + header.snapshotsBytes;
  const counters = packs + header.packCount * CHECKPOINT_PACK_BYTES;
  const liveHeads = counters + header.counterBytes;
  const deadHeads = liveHeads + header.liveHeadCount * CHECKPOINT_HEAD_BYTES;
  const entries = deadHeads + header.deadHeadCount * CHECKPOINT_HEAD_BYTES;
  const digest = image.length - CHECKPOINT_DIGEST_BYTES;
  return { header, segments, absentPacks, snapshots, packs, counters, liveHeads, deadHeads, entries, digest };
}

/** The offset of one field of an entry; fields are numbered in words as in docs/format.md. */
export function entryWord({ entries }: CheckpointParts, entry: number, word: number): number {
  return entries + entry * CHECKPOINT_ENTRY_BYTES + word * 4;
}

/** Makes the checksum of the header and the digest of the file right again. */
export function resign(image: Buffer): Buffer {
  const end = CHECKPOINT_HEADER_CHECKSUM_OFFSET;
  image.writeUInt32LE(checksumOf(image.subarray(0, end)), end);
  const content = image.subarray(0, image.length - CHECKPOINT_DIGEST_BYTES);
  createHash('sha256').update(content).digest().copy(image, content.length);
  return image;
}

const NEXT_WORD = 11;

/** A change that makes the content of a checkpoint impossible, or wrong. */
export interface Attack {
  readonly what: string;
  readonly message: RegExp;
  readonly change: (mutated: Buffer, parts: CheckpointParts) => void;
}

/** Swaps equally long runs of bytes. */
function swap(bytes: Buffer, first: number, second: number, length: number): void {
  const copy = Buffer.from(bytes.subarray(first, first + length));
  bytes.copyWithin(first, second, second + length);
  copy.copy(bytes, second);
}

export const ATTACKS: readonly Attack[] = [
  {
    what: 'a pack index out of range',
    message: /names a pack that is not listed/,
    change: (bytes, parts) => bytes.writeUInt32LE(parts.header.packCount, entryWord(parts, 3, 5)),
  },
  {
    what: 'a chain without an end',
    message: /not linked|does not end/,
    change: (bytes, parts) => {
      for (let entry = 0; entry < parts.header.liveCount; entry += 1)
        bytes.writeUInt32LE(entry, entryWord(parts, entry, NEXT_WORD));
    },
  },
  { what: 'no hashes', message: /0 hashes/, change: (bytes) => bytes.writeUInt32LE(0, 12) },
  { what: 'four billion hashes', message: /4294967295 hashes/, change: (bytes) => bytes.writeUInt32LE(NIL, 12) },
  {
    what: 'one hash more than its counters have counted',
    message: /counters|out of order|not as configured|positions/,
    change: (bytes) => bytes.writeUInt32LE(bytes.readUInt32LE(12) + 1, 12),
  },
  {
    what: 'two locations exchanged',
    message: /does not match the segments/,
    change: (bytes, parts) => swap(bytes, entryWord(parts, 0, 5), entryWord(parts, 9, 5), 20),
  },
  {
    what: 'two counters exchanged',
    message: /counters do not match/,
    change: (bytes, parts) => {
      const counters = bytes.subarray(parts.counters, parts.liveHeads);
      const other = counters.findIndex((byte) => byte !== counters[0]);
      swap(bytes, parts.counters, parts.counters + other, 1);
    },
  },
  {
    what: 'a snapshot with the root of another',
    message: /another root tree/,
    change: (bytes, parts) => {
      const manifestBytes = bytes.readUInt32LE(parts.snapshots + 52);
      const second = parts.snapshots + 56 + manifestBytes;
      bytes.copyWithin(parts.snapshots + 32, second + 32, second + 52);
    },
  },
  {
    what: 'a pack that it lists twice',
    message: /an id twice/,
    change: (bytes, parts) => bytes.copyWithin(parts.packs, parts.packs + 56, parts.packs + 88),
  },
  {
    what: 'a chunk that is in no segment instead of one that is',
    message: /does not match the segments/,
    // The lowest bits of this word have no influence on the positions, so only the segments tell.
    change: (bytes, parts) => void (bytes[entryWord(parts, 2, 3)]! ^= 1),
  },
  {
    what: 'a pack that is shorter than it is',
    message: /describes pack/,
    change: (bytes, parts) => bytes.writeUInt32LE(bytes.readUInt32LE(parts.packs + 32) - 20, parts.packs + 32),
  },
];

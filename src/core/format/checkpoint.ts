import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../errors.ts';
import { ByteReader, checksumOf } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { chunkKindOfCode, codeOfChunkKind } from './chunk-kind.ts';
import type { ChunkKind } from './chunk-kind.ts';
import { CHUNK_ID_BYTES, FILE_ID_BYTES } from './constants.ts';

/** The parts of a checkpoint (the image of the LDM filter) that are not plain arrays. See docs/format.md. */

const CHECKPOINT_MAGIC = 'LDMFILT1';
const CHECKPOINT_VERSION = 1;
export const CHECKPOINT_HEADER_BYTES = 84;
export const CHECKPOINT_HEADER_CHECKSUM_OFFSET = 80;
/** A snapshot entry without its manifest. */
export const CHECKPOINT_SNAPSHOT_BYTES: number = FILE_ID_BYTES + CHUNK_ID_BYTES + 4;
export const CHECKPOINT_PACK_BYTES = 56;
export const CHECKPOINT_ENTRY_BYTES = 48;
export const CHECKPOINT_HEAD_BYTES = 4;
/** SHA-256 of all preceding bytes. */
export const CHECKPOINT_DIGEST_BYTES = 32;

export interface CheckpointHeader {
  readonly capacity: number;
  readonly hashes: number;
  readonly positions: number;
  readonly fprTarget: number;
  readonly segmentCount: number;
  readonly absentPackCount: number;
  readonly snapshotCount: number;
  /** Size of all snapshot entries including their manifests. */
  readonly snapshotsBytes: number;
  readonly packCount: number;
  readonly counterBytes: number;
  readonly liveCount: number;
  readonly deadCount: number;
  readonly liveHeadCount: number;
  readonly deadHeadCount: number;
}

interface CheckpointSnapshot {
  readonly id: string;
  readonly tree: Uint8Array;
  readonly manifest: Uint8Array;
}

interface CheckpointPack {
  readonly id: string;
  readonly kind: ChunkKind;
  readonly sizeBytes: number;
  readonly chunkCount: number;
  readonly storedBytes: number;
  readonly isBorrowed: boolean;
}

export function encodeCheckpointHeader(header: CheckpointHeader): Buffer {
  const writer = new ByteWriter(CHECKPOINT_HEADER_BYTES);
  writer.latin1(CHECKPOINT_MAGIC);
  writer.u32(CHECKPOINT_VERSION);
  writer.u32(header.hashes);
  writer.u32(header.capacity);
  writer.u32(header.positions);
  const rate = Buffer.alloc(8);
  rate.writeDoubleLE(header.fprTarget);
  writer.bytes(rate);
  writer.u32(header.segmentCount);
  writer.u32(header.absentPackCount);
  writer.u32(header.snapshotCount);
  writer.u32(header.packCount);
  writer.u64(header.snapshotsBytes);
  writer.u64(header.counterBytes);
  writer.u32(header.liveCount);
  writer.u32(header.deadCount);
  writer.u32(header.liveHeadCount);
  writer.u32(header.deadHeadCount);
  writer.u32(checksumOf(writer.buffer.subarray(0, writer.offset)));
  return writer.finish();
}

/**
 * Decodes the first 84 bytes of a checkpoint. The header matches the file if `checkpointBytes` of it equals the file
 * size. The checksum is the same in every version, so that a damaged version number is not mistaken for another
 * version.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeCheckpointHeader(bytes: Uint8Array, what = 'checkpoint'): CheckpointHeader {
  const reader = new ByteReader(bytes, what);
  reader.magic(CHECKPOINT_MAGIC);
  const checksum = new ByteReader(bytes, what, CHECKPOINT_HEADER_CHECKSUM_OFFSET).u32();
  if (checksum !== checksumOf(bytes.subarray(0, CHECKPOINT_HEADER_CHECKSUM_OFFSET))) {
    reader.fail('the header has a wrong checksum');
  }
  const version = reader.u32();
  if (version !== CHECKPOINT_VERSION) {
    throw new UnsupportedFormatError(`${what}: checkpoint version ${version} is not supported`);
  }
  const hashes = reader.u32();
  const capacity = reader.u32();
  const positions = reader.u32();
  const fprTarget = reader.bytes(8).readDoubleLE();
  const segmentCount = reader.u32();
  const absentPackCount = reader.u32();
  const snapshotCount = reader.u32();
  const packCount = reader.u32();
  const snapshotsBytes = reader.u64();
  const counterBytes = reader.u64();
  const liveCount = reader.u32();
  const deadCount = reader.u32();
  const liveHeadCount = reader.u32();
  const deadHeadCount = reader.u32();
  return {
    capacity,
    hashes,
    positions,
    fprTarget,
    segmentCount,
    absentPackCount,
    snapshotCount,
    snapshotsBytes,
    packCount,
    counterBytes,
    liveCount,
    deadCount,
    liveHeadCount,
    deadHeadCount,
  };
}

/** Size of the complete file according to a header. */
export function checkpointBytes(header: CheckpointHeader): number {
  return (
    CHECKPOINT_HEADER_BYTES +
    (header.segmentCount + header.absentPackCount) * FILE_ID_BYTES +
    header.snapshotsBytes +
    header.packCount * CHECKPOINT_PACK_BYTES +
    header.counterBytes +
    (header.liveCount + header.deadCount) * CHECKPOINT_ENTRY_BYTES +
    (header.liveHeadCount + header.deadHeadCount) * CHECKPOINT_HEAD_BYTES +
    CHECKPOINT_DIGEST_BYTES
  );
}

export function encodeFileIds(ids: Iterable<string>): Buffer {
  const bytes = Buffer.from([...ids].join(''), 'hex');
  assert(bytes.length % FILE_ID_BYTES === 0, 'files are named by 32 bytes');
  return bytes;
}

export function decodeFileIds(bytes: Uint8Array): string[] {
  const reader = new ByteReader(bytes, 'checkpoint');
  const ids: string[] = [];
  while (reader.remaining > 0) ids.push(reader.bytes(FILE_ID_BYTES).toString('hex'));
  return ids;
}

export function encodeCheckpointSnapshot({ id, tree, manifest }: CheckpointSnapshot): Buffer {
  const writer = new ByteWriter(CHECKPOINT_SNAPSHOT_BYTES + manifest.length);
  writer.bytes(bytesOfFileId(id));
  assert(tree.length === CHUNK_ID_BYTES);
  writer.bytes(tree);
  writer.u32(manifest.length);
  writer.bytes(manifest);
  return writer.finish();
}

/** Decodes consecutive snapshot entries; the result contains copies of the bytes. */
export function decodeCheckpointSnapshots(bytes: Uint8Array, count: number, what = 'checkpoint'): CheckpointSnapshot[] {
  const reader = new ByteReader(bytes, what);
  const snapshots: CheckpointSnapshot[] = [];
  for (let left = count; left > 0; left--) {
    const id = reader.bytes(FILE_ID_BYTES).toString('hex');
    const tree = Uint8Array.from(reader.bytes(CHUNK_ID_BYTES));
    snapshots.push({ id, tree, manifest: Uint8Array.from(reader.bytes(reader.u32())) });
  }
  reader.end();
  return snapshots;
}

export function encodeCheckpointPacks(packs: readonly CheckpointPack[]): Buffer {
  const writer = new ByteWriter(packs.length * CHECKPOINT_PACK_BYTES);
  for (const pack of packs) {
    writer.bytes(bytesOfFileId(pack.id));
    writer.u64(pack.sizeBytes);
    writer.u64(pack.storedBytes);
    writer.u32(pack.chunkCount);
    writer.u8(codeOfChunkKind(pack.kind));
    writer.u8(pack.isBorrowed ? 1 : 0);
    writer.skip(2);
  }
  return writer.finish();
}

export function decodeCheckpointPacks(bytes: Uint8Array, what = 'checkpoint'): CheckpointPack[] {
  const reader = new ByteReader(bytes, what);
  const packs: CheckpointPack[] = [];
  while (reader.remaining > 0) {
    const id = reader.bytes(FILE_ID_BYTES).toString('hex');
    const sizeBytes = reader.u64();
    const storedBytes = reader.u64();
    const chunkCount = reader.u32();
    const kind = chunkKindOfCode(reader.u8(), what);
    const borrowed = reader.u8();
    if (borrowed > 1) reader.fail(`pack ${id} is borrowed or not, which is 1 or 0 and not ${borrowed}`);
    reader.zeros(2);
    packs.push({ id, kind, sizeBytes, chunkCount, storedBytes, isBorrowed: borrowed === 1 });
  }
  return packs;
}

function bytesOfFileId(id: string): Buffer {
  assert(/^[0-9a-f]{64}$/.test(id), `not 64 hex digits: ${id}`);
  return Buffer.from(id, 'hex');
}

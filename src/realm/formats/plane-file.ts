import assert from 'node:assert/strict';
import { hash, webcrypto } from 'node:crypto';
import { UnsupportedFormatError } from '../../core/errors.ts';
import { ByteReader, bufferOver } from '../../core/format/byte-reader.ts';
import { ByteWriter } from '../../core/format/byte-writer.ts';
import { FILE_ID_BYTES } from '../../core/format/constants.ts';

/** The files with which a domain publishes its plane: a base and what has changed since. See docs/format.md. */

export const PLANE_BASE_MAGIC = 'LDMPLBA1';
export const PLANE_DELTA_MAGIC = 'LDMPLDE1';
export const PLANE_FILE_VERSION = 1;
export const PLANE_BASE_HEADER_BYTES = 72;
export const PLANE_DELTA_HEADER_BYTES = 112;
/** SHA-256 of all preceding bytes. */
const PLANE_FILE_DIGEST_BYTES = 32;
/** The filter uses signed 32-bit operators. */
export const MAX_PLANE_POSITIONS: number = 2 ** 31 - 1;
const MAX_PLANE_HASHES = 32;
/** A varint has seven bits per byte, and a position has 31. */
const VARINT_BYTES_MAX = 5;

/** A complete plane. */
export interface PlaneBase {
  /** The repository id: 64 hex digits. */
  readonly domainId: string;
  readonly generation: number;
  readonly sequence: number;
  /** m */
  readonly positions: number;
  /** k */
  readonly hashes: number;
  /** n: the number of live chunks. */
  readonly liveCount: number;
  /** `ceil(m / 8)` bytes: bit p % 8 of byte p / 8 tells whether the counter at position p is above 0. */
  readonly plane: Uint8Array;
}

/** The positions whose bit changes from one sequence to another one. */
export interface PlaneDelta {
  readonly domainId: string;
  readonly generation: number;
  readonly from: number;
  readonly to: number;
  readonly positions: number;
  /** At sequence `to`. */
  readonly liveCount: number;
  /** The `planeChecksum` of the plane at sequence `to`: 64 hex digits. */
  readonly checksum: string;
  /** Ascending. */
  readonly flips: Uint32Array;
}

/** The checksum of a whole plane: its hex SHA-256, 7 ms for 10^8 positions with hardware support and 40 ms without. */
export function planeChecksum(plane: Uint8Array): string {
  return hash('sha256', plane, 'hex');
}

/** Hashed in less time than another thread needs to begin. */
const SMALL_PLANE_BYTES = 65_536;

/** The same, computed by another thread while this one goes on, if that takes long. */
export async function concurrentPlaneChecksum(plane: Uint8Array): Promise<string> {
  if (plane.length <= SMALL_PLANE_BYTES) return planeChecksum(plane);
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', plane as Uint8Array<ArrayBuffer>)).toString('hex');
}

export function planeBaseBytes(positions: number): number {
  return PLANE_BASE_HEADER_BYTES + Math.ceil(positions / 8) + PLANE_FILE_DIGEST_BYTES;
}

export function encodePlaneBase(base: PlaneBase): Buffer {
  const writer = new ByteWriter(planeBaseBytes(base.positions));
  writer.latin1(PLANE_BASE_MAGIC);
  writer.u32(PLANE_FILE_VERSION);
  writer.u32(base.hashes);
  writer.u32(base.positions);
  writer.u32(base.liveCount);
  writer.u64(base.generation);
  writer.u64(base.sequence);
  writer.bytes(bytesOfDigest(base.domainId));
  writer.bytes(base.plane);
  return seal(writer);
}

/**
 * Decodes a base; its plane is a view of `bytes`.
 * @param comparesDigest - false if the plane is compared with a `planeChecksum` anyway, to read its bytes once
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodePlaneBase(
  bytes: Uint8Array,
  what: string = 'plane base',
  comparesDigest: boolean = true,
): PlaneBase {
  const reader = open(bytes, PLANE_BASE_MAGIC, what, comparesDigest);
  const hashes = reader.u32();
  if (hashes < 1 || hashes > MAX_PLANE_HASHES) reader.fail(`${hashes} hashes`);
  const positions = readPositionCount(reader);
  const liveCount = reader.u32();
  const generation = reader.u64();
  const sequence = reader.u64();
  const domainId = reader.hex(FILE_ID_BYTES);
  if (bytes.length !== planeBaseBytes(positions)) {
    reader.fail(`${bytes.length} bytes long instead of ${planeBaseBytes(positions)}`);
  }
  const plane = reader.view(Math.ceil(positions / 8));
  if (positions % 8 !== 0 && plane.at(-1)! >>> (positions % 8) !== 0) reader.fail('unused bits must be 0');
  return { domainId, generation, sequence, positions, hashes, liveCount, plane };
}

export function encodePlaneDelta(delta: PlaneDelta): Buffer {
  assert(delta.from < delta.to);
  const writer = new ByteWriter(planeDeltaBytes(delta.flips));
  writer.latin1(PLANE_DELTA_MAGIC);
  writer.u32(PLANE_FILE_VERSION);
  writer.u32(delta.positions);
  writer.u32(delta.liveCount);
  writer.u32(delta.flips.length);
  writer.u64(delta.generation);
  writer.u64(delta.from);
  writer.u64(delta.to);
  writer.bytes(bytesOfDigest(delta.domainId));
  writer.bytes(bytesOfDigest(delta.checksum));
  let previous = -1;
  for (const position of delta.flips) {
    writeVarint(writer, position - previous - 1);
    previous = position;
  }
  return seal(writer);
}

/** Size of the delta with these flips. */
export function planeDeltaBytes(flips: Uint32Array): number {
  let sizeBytes = PLANE_DELTA_HEADER_BYTES + PLANE_FILE_DIGEST_BYTES;
  let previous = -1;
  for (const position of flips) {
    sizeBytes += varintBytes(position - previous - 1);
    previous = position;
  }
  return sizeBytes;
}

/**
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodePlaneDelta(bytes: Uint8Array, what = 'plane delta'): PlaneDelta {
  const reader = open(bytes, PLANE_DELTA_MAGIC, what);
  const positions = readPositionCount(reader);
  const liveCount = reader.u32();
  const flipCount = reader.u32();
  const generation = reader.u64();
  const from = reader.u64();
  const to = reader.u64();
  if (from >= to) reader.fail(`leads from sequence ${from} to ${to}`);
  const domainId = reader.hex(FILE_ID_BYTES);
  const checksum = reader.hex(FILE_ID_BYTES);
  // Each flip takes at least one byte, so the memory is in proportion to the file.
  if (flipCount > reader.remaining - PLANE_FILE_DIGEST_BYTES) reader.fail(`too short for ${flipCount} flips`);
  const flips = readFlips(reader, new Uint32Array(flipCount), positions);
  reader.view(PLANE_FILE_DIGEST_BYTES);
  reader.end();
  return { domainId, generation, from, to, positions, liveCount, checksum, flips };
}

function readFlips(reader: ByteReader, flips: Uint32Array, positions: number): Uint32Array {
  let previous = -1;
  for (let index = 0; index < flips.length; index++) {
    previous += 1 + readVarint(reader);
    if (previous >= positions) reader.fail(`position ${previous} of ${positions}`);
    flips[index] = previous;
  }
  return flips;
}

/** Reads magic and version. The digest comes first, so that a damaged version is not mistaken for another version. */
function open(bytes: Uint8Array, magic: string, what: string, comparesDigest = true): ByteReader {
  const reader = new ByteReader(bytes, what);
  reader.magic(magic);
  const end = bytes.length - PLANE_FILE_DIGEST_BYTES;
  if (end < magic.length) reader.fail(`too short (${bytes.length} bytes)`);
  const digest = comparesDigest ? hash('sha256', bytes.subarray(0, end), 'hex') : undefined;
  if (digest !== undefined && digest !== bufferOver(bytes).toString('hex', end)) {
    reader.fail('wrong checksum at the end');
  }
  const version = reader.u32();
  if (version !== PLANE_FILE_VERSION) throw new UnsupportedFormatError(`${what}: version ${version} is not supported`);
  return reader;
}

function seal(writer: ByteWriter): Buffer {
  writer.bytes(bytesOfDigest(hash('sha256', writer.buffer.subarray(0, writer.offset), 'hex')));
  return writer.finish();
}

function readPositionCount(reader: ByteReader): number {
  const positions = reader.u32();
  if (positions < 1 || positions > MAX_PLANE_POSITIONS) reader.fail(`${positions} positions`);
  return positions;
}

function bytesOfDigest(digest: string): Buffer {
  assert(/^[0-9a-f]{64}$/.test(digest), 'a digest has 64 hex digits');
  return Buffer.from(digest, 'hex');
}

/** LEB128: seven bits per byte, the lowest first; the highest bit of a byte tells that another one follows. */
function writeVarint(writer: ByteWriter, value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) writer.u8((rest & 0x7f) | 0x80);
  writer.u8(rest);
}

function varintBytes(value: number): number {
  return value === 0 ? 1 : Math.ceil((32 - Math.clz32(value)) / 7);
}

/** Reads a varint of at most 35 bits, in its shortest form only. */
function readVarint(reader: ByteReader): number {
  let value = 0;
  for (let index = 0; index < VARINT_BYTES_MAX; index++) {
    const byte = reader.u8();
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte >= 0x80) continue;
    if (byte === 0 && index > 0) reader.fail('a number is longer than necessary');
    return value;
  }
  return reader.fail('a number is too long');
}

import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import zlib from 'node:zlib';
import { Cursor, checksumOf, demand } from './stranger-bytes.ts';
import type { Spans } from './stranger-bytes.ts';
import { hkdf, openEnvelope } from './stranger-crypto.ts';
import type { StrangerKeys } from './stranger-crypto.ts';
import type { StrangerConfig } from './stranger-config.ts';

/** docs/format.md, "Chunk ids", "Packs", "Sealed packs" and "Segments". */

export const DATA = 1;
export const TREE = 2;
const ENVELOPE_BYTES = 40;
const RAW = 0;
const ZSTD = 1;

export interface StrangerBlock {
  /** Where its envelope begins in the pack. */
  readonly offset: number;
  readonly storedBytes: number;
  readonly rawBytes: number;
  readonly codec: number;
  readonly chunkIds: readonly string[];
  readonly chunkLengths: readonly number[];
}

export interface StrangerPack {
  readonly id: string;
  readonly sizeBytes: number;
  readonly kind: number;
  readonly blocks: readonly StrangerBlock[];
}

interface ZstdOfNode {
  readonly zstdDecompressSync?: (frame: Uint8Array) => Buffer;
  readonly zstdCompressSync?: (bytes: Uint8Array) => Buffer;
}

interface ZstdPackage {
  readonly Decoder: new () => { decodeSync(frame: Uint8Array): Buffer };
  readonly Encoder: new (level: number) => { encodeSync(bytes: Uint8Array): Buffer };
}

/** That of Node, from 22.15 on. */
const nodeZstd = zlib as ZstdOfNode;

function zstdPackage(): ZstdPackage {
  return createRequire(import.meta.url)('@toondepauw/node-zstd') as ZstdPackage;
}

export function decompress(frame: Uint8Array): Buffer {
  return nodeZstd.zstdDecompressSync?.(frame) ?? new (zstdPackage().Decoder)().decodeSync(frame);
}

export function compress(bytes: Uint8Array): Buffer {
  return nodeZstd.zstdCompressSync?.(bytes) ?? new (zstdPackage().Encoder)(3).encodeSync(bytes);
}

/** The id of a chunk: an HMAC, 20 bytes in hex. */
export function chunkIdOf(config: StrangerConfig, kind: number, bytes: Uint8Array): string {
  const idKey = Buffer.from(config.id_key, 'hex');
  const key = kind === TREE ? hkdf(idKey, Buffer.alloc(0), 'ldm tree id') : idKey;
  return createHmac(config.chunk_hash, key).update(bytes).digest('hex').slice(0, 40);
}

/** Footer and trailer of a pack. */
export function parseFooter(bytes: Uint8Array, spans?: Spans, base = 0): StrangerBlock[] {
  const trailer = new Cursor(bytes.subarray(-24), spans, base + bytes.length - 24);
  const blockCount = trailer.u32();
  const chunkCount = trailer.u32();
  demand(trailer.u32() === bytes.length - 24, 'the footer has another length');
  demand(trailer.u32() === checksumOf(bytes.subarray(0, -12)), 'the footer has a wrong checksum');
  trailer.magic('LDMPEND1');
  const cursor = new Cursor(bytes.subarray(0, -24), spans, base);
  const blocks = Array.from({ length: blockCount }, () => parseFooterBlock(cursor));
  cursor.end();
  demand(blocks.reduce((sum, block) => sum + block.chunkIds.length, 0) === chunkCount, 'the chunks are not so many');
  return blocks;
}

function parseFooterBlock(cursor: Cursor): StrangerBlock {
  const [offset, storedBytes, rawBytes, count] = [cursor.u32(), cursor.u32(), cursor.u32(), cursor.u32()];
  const codec = cursor.u8();
  cursor.zeros(3);
  const chunkIds = cursor.hexes(count, 20);
  return { offset, storedBytes, rawBytes, codec, chunkIds, chunkLengths: cursor.u32s(count) };
}

/** How long a block is in its pack. */
export function sizeOfBlock({ chunkIds, storedBytes }: StrangerBlock): number {
  return ENVELOPE_BYTES + 24 + 4 * chunkIds.length + storedBytes;
}

/** Opens the end of a sealed pack. Its blocks must fill the space from the header to the envelope of the footer. */
export function parsePack(keys: StrangerKeys, id: string, bytes: Buffer): StrangerPack {
  parsePackHeader(bytes);
  const trailer = new Cursor(bytes.subarray(-16));
  const envelopeBytes = trailer.u32();
  trailer.zeros(4);
  trailer.magic('LDMXEND1');
  const envelopeOffset = bytes.length - 16 - envelopeBytes;
  const end = openEnvelope(keys, 'footers', bytes.subarray(envelopeOffset, -16));
  const cursor = new Cursor(end);
  const kind = cursor.u8();
  cursor.zeros(3);
  const blocks = parseFooter(end.subarray(4));
  let offset = 32;
  for (const block of blocks) {
    demand(block.offset === offset, 'a block does not begin where the previous one ends');
    offset += sizeOfBlock(block);
  }
  demand(offset === envelopeOffset, 'the footer does not begin where the last block ends');
  return { id, sizeBytes: bytes.length, kind, blocks };
}

function parsePackHeader(bytes: Buffer): void {
  const cursor = new Cursor(bytes.subarray(0, 32));
  cursor.magic('LDMPACK1');
  demand(cursor.u32() === 3, 'the pack is not sealed');
  cursor.zeros(4);
  void cursor.take(16);
}

/** The raw bytes of all chunks of a block, each verified against its id. */
export function openBlock(
  { keys, config }: { readonly keys: StrangerKeys; readonly config: StrangerConfig },
  pack: StrangerPack,
  { block, bytes }: { readonly block: StrangerBlock; readonly bytes: Buffer },
): Buffer[] {
  const stored = openEnvelope(keys, 'blocks', bytes.subarray(block.offset, block.offset + sizeOfBlock(block)));
  const raw = splitBlock(stored, { ...block, kind: pack.kind });
  for (const [index, chunk] of raw.entries()) {
    const isRight = chunk.length > 0 && chunkIdOf(config, pack.kind, chunk) === block.chunkIds[index];
    demand(isRight, 'a chunk has another id');
  }
  return raw;
}

/** The chunks of an opened block, of which this is known from the footer. */
export function splitBlock(
  stored: Buffer,
  block: Omit<StrangerBlock, 'offset'> & { readonly kind: number },
  spans?: Spans,
): Buffer[] {
  const cursor = new Cursor(stored, spans);
  cursor.magic('LDMB');
  demand(cursor.u8() === block.codec && cursor.u8() === block.kind, 'codec or kind differs from the footer');
  cursor.zeros(2);
  const counts = [cursor.u32(), cursor.u32(), cursor.u32()];
  demand(
    counts.join() === [block.chunkIds.length, block.rawBytes, block.storedBytes].join(),
    'a count differs from the footer',
  );
  const checksum = cursor.u32();
  const lengths = cursor.u32s(block.chunkIds.length);
  demand(lengths.join() === block.chunkLengths.join(), 'the table differs from the footer');
  demand(checksum === checksumOf(stored.subarray(0, 20), stored.subarray(24, cursor.offset)), 'wrong checksum');
  demand(block.codec === RAW || block.codec === ZSTD, 'unknown codec');
  const payload = cursor.take(block.storedBytes);
  cursor.end();
  const chunks = new Cursor(block.codec === ZSTD ? decompress(payload) : payload);
  const raw = lengths.map((length) => chunks.take(length));
  chunks.end();
  return raw;
}

/** The packs that an opened segment lists. */
export function parseSegment(bytes: Uint8Array, spans?: Spans): StrangerPack[] {
  const cursor = new Cursor(bytes, spans);
  cursor.magic('LDMSEGM1');
  demand(cursor.u32() === 3, 'the segment does not list sealed packs');
  const count = cursor.u32();
  void cursor.take(16);
  const packs = Array.from({ length: count }, () => {
    const [id, sizeBytes, kind] = [cursor.hex(32), cursor.u64(), cursor.u8()];
    cursor.zeros(3);
    const footerBytes = cursor.u32();
    const base = cursor.offset;
    return { id, sizeBytes, kind, blocks: parseFooter(cursor.take(footerBytes), spans, base) };
  });
  cursor.end();
  return packs;
}

/** The ids that an opened condemnation lists: of segments, of packs, and of the damaged ones among them. */
export function parseCondemnation(
  bytes: Uint8Array,
  spans?: Spans,
): { readonly segments: string[]; readonly packs: string[] } {
  const cursor = new Cursor(bytes, spans);
  cursor.magic('LDMCOND1');
  demand(cursor.u32() === 1, 'unknown version');
  const [segmentCount, packCount, damagedCount] = [cursor.u32(), cursor.u32(), cursor.u32()];
  void cursor.take(16);
  const [segments, packs] = [cursor.hexes(segmentCount, 32), cursor.hexes(packCount, 32)];
  void cursor.take(32 * damagedCount);
  cursor.end();
  return { segments, packs };
}

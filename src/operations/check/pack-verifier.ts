import type { Backend } from '../../backend/backend.ts';
import type { ChunkHasher } from '../../crypto/chunk-hasher.ts';
import { CorruptDataError } from '../../errors.ts';
import { blockBytes, decodeBlockHeader } from '../../format/block.ts';
import { CHUNK_ID_BYTES, PACK_HEADER_BYTES } from '../../format/constants.ts';
import { encodePackFooter, encodePackHeader } from '../../format/pack.ts';
import type { PackContents, PackedBlock } from '../../format/pack.ts';
import { packName } from '../../store/pack-reader.ts';
import { unpack } from '../../workers/compression.ts';
import { StreamDigest } from '../../workers/hashing.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';

/** What was found out about one pack. */
export interface PackReport {
  readonly pack: PackContents;
  readonly problems: readonly string[];
  /** Hex ids of the chunks that cannot be read from it. */
  readonly damagedChunks: readonly string[];
  readonly bytesRead: number;
}

/** Blocks of one pack that are unpacked at a time. */
const BLOCKS_AT_ONCE = 4;

/** Proves packs against what a segment says of them. */
export class PackVerifier {
  readonly #backend: Backend;
  readonly #hasher: ChunkHasher;

  constructor(backend: Backend, hasher: ChunkHasher) {
    this.#backend = backend;
    this.#hasher = hasher;
  }

  /** Presence, size and footer. What is wrong there is followed by a look at every chunk. */
  async verifyStructure(pack: PackContents): Promise<PackReport> {
    const problem = await this.#structureProblem(pack);
    if (problem === undefined) return { pack, problems: [], damagedChunks: [], bytesRead: 0 };
    const report = await this.verifyData(pack);
    return { ...report, problems: [...new Set([problem, ...report.problems])] };
  }

  /** Every byte: the SHA-256 of the file, and the id of every chunk. */
  async verifyData(pack: PackContents): Promise<PackReport> {
    const problems: string[] = [];
    const bytes = await this.#readPack(pack, problems);
    if (bytes === undefined) return { pack, problems, damagedChunks: allChunks(pack), bytesRead: 0 };
    if ((await sha256Of(bytes)) === pack.id) {
      problems.push(...footerProblems(bytes, pack));
    } else {
      problems.push('its bytes are not what was stored (SHA-256 differs from the name)');
    }
    const damaged = await mapConcurrently(pack.blocks, BLOCKS_AT_ONCE, async (block) =>
      this.#verifyBlock(bytes, block, problems),
    );
    return { pack, problems, damagedChunks: damaged.flat(), bytesRead: bytes.length };
  }

  async #structureProblem(pack: PackContents): Promise<string | undefined> {
    const name = packName(pack.id);
    const sizeBytes = await this.#backend.sizeOf(name);
    if (sizeBytes === undefined) return 'it is missing';
    if (sizeBytes !== pack.sizeBytes) return `it has ${sizeBytes} bytes and should have ${pack.sizeBytes}`;
    const expected = encodePackFooter(pack.blocks);
    const footer = Buffer.allocUnsafe(expected.length);
    await this.#backend.readRange(name, sizeBytes - footer.length, footer);
    return footer.equals(expected) ? undefined : 'its footer does not say what the segment says';
  }

  async #readPack(pack: PackContents, problems: string[]): Promise<Buffer | undefined> {
    const name = packName(pack.id);
    const sizeBytes = await this.#backend.sizeOf(name);
    if (sizeBytes === undefined) {
      problems.push('it is missing');
      return undefined;
    }
    if (sizeBytes !== pack.sizeBytes) problems.push(`it has ${sizeBytes} bytes and should have ${pack.sizeBytes}`);
    // Shared, so that threads can work on it without copies.
    const bytes = Buffer.from(new SharedArrayBuffer(sizeBytes));
    await this.#backend.readRange(name, 0, bytes);
    return bytes;
  }

  /** Hex ids of the block's chunks whose bytes are wrong. */
  async #verifyBlock(bytes: Buffer, block: PackedBlock, problems: string[]): Promise<string[]> {
    try {
      const found = await this.#idsOf(bytes.subarray(block.offset), block);
      const damaged = chunksOf(block).filter((id, index) => id !== hexId(found, index * CHUNK_ID_BYTES));
      if (damaged.length > 0) problems.push(`${damaged.length} chunks at offset ${block.offset} have wrong bytes`);
      return damaged;
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      problems.push(`the block at offset ${block.offset} cannot be read: ${error.message}`);
      return chunksOf(block);
    }
  }

  /** The ids of the block's chunks, computed from its bytes. */
  async #idsOf(bytes: Buffer, block: PackedBlock): Promise<Uint8Array> {
    const header = decodeBlockHeader(bytes);
    const { kind, codec, rawBytes, storedBytes, chunkLengths } = header;
    const isSame = rawBytes === block.rawBytes && storedBytes === block.storedBytes;
    if (!isSame || Buffer.compare(lengthsOf(chunkLengths), lengthsOf(block.chunkLengths)) !== 0) {
      throw new CorruptDataError('its header does not say what the segment says');
    }
    const endOffset = blockBytes(chunkLengths.length, storedBytes);
    if (bytes.length < endOffset) throw new CorruptDataError('the pack ends before it');
    const payload = bytes.subarray(endOffset - storedBytes, endOffset);
    const proof = { key: this.#hasher.keyOf(kind), chunkLengths };
    return (await unpack({ codec, payload, rawBytes, proof })).chunkIds;
  }
}

/** Beside the reading of the next pack. */
async function sha256Of(bytes: Uint8Array): Promise<string> {
  const digest = new StreamDigest();
  const [, hex] = await Promise.all([digest.update([bytes]), digest.end()]);
  return hex;
}

function footerProblems(bytes: Buffer, pack: PackContents): string[] {
  const expected = encodePackFooter(pack.blocks);
  const isSame = bytes.subarray(Math.max(0, bytes.length - expected.length)).equals(expected);
  const header = bytes.subarray(0, PACK_HEADER_BYTES);
  return isSame && header.equals(encodePackHeader(pack.kind)) ? [] : ['it is not what the segment says'];
}

function chunksOf(block: PackedBlock): string[] {
  const ids: string[] = [];
  for (let offset = 0; offset < block.chunkIds.length; offset += CHUNK_ID_BYTES)
    ids.push(hexId(block.chunkIds, offset));
  return ids;
}

function allChunks(pack: PackContents): string[] {
  return pack.blocks.flatMap((block) => chunksOf(block));
}

function lengthsOf(lengths: Uint32Array): Buffer {
  return Buffer.from(lengths.buffer, lengths.byteOffset, lengths.byteLength);
}

function hexId(ids: Uint8Array, offset: number): string {
  return Buffer.from(ids.buffer, ids.byteOffset + offset, CHUNK_ID_BYTES).toString('hex');
}

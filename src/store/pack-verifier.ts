import { packName } from '../format/layout.ts';
import type { Backend } from '../backend/backend.ts';
import { packDigestOf } from '../crypto/pack-digest.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import { BackendError, CorruptDataError, isAbsent } from '../errors.ts';
import { blockBytes } from '../format/block.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { decodePackHeader, encodePackFooter, headerBytesOf } from '../format/pack.ts';
import type { PackContents, PackedBlock } from '../format/pack.ts';
import { BufferPool } from './buffer-pool.ts';
import type { BlockCodec } from './block-codec.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';

/** The result of verifying one pack. */
export interface PackReport {
  readonly pack: PackContents;
  readonly problems: readonly string[];
  /** Hex ids of the chunks that cannot be read from the pack. */
  readonly damagedChunks: readonly string[];
  readonly bytesRead: number;
}

/** Blocks of one pack that are decompressed at a time. */
const BLOCKS_AT_ONCE = 4;

/** Verifies packs against the contents that a segment lists. */
export class PackVerifier {
  readonly #backend: Backend;
  readonly #codec: BlockCodec;
  readonly #packHash: PackHash;
  /** Sizes by pack id, of a listing that may be outdated. One that is as expected saves a call. */
  readonly #listed: Map<string, number>;
  /** Buffers for whole packs. */
  readonly #buffers = new BufferPool({ sizeBytesMin: 1024 * 1024 });

  constructor(made: {
    readonly backend: Backend;
    readonly codec: BlockCodec;
    readonly packHash: PackHash;
    readonly listed: ReadonlyMap<string, number>;
  }) {
    this.#backend = made.backend;
    this.#codec = made.codec;
    this.#packHash = made.packHash;
    this.#listed = new Map(made.listed);
  }

  /** Verifies size and footer without reading the rest. If that fails, verifies every chunk. */
  async verifyStructure(pack: PackContents): Promise<PackReport> {
    const problem = await this.#withoutOldSize(pack, async () => this.#structureProblem(pack)).catch(unreadable);
    if (problem === undefined) return { pack, problems: [], damagedChunks: [], bytesRead: 0 };
    const report = await this.verifyData(pack);
    return { ...report, problems: [...new Set([problem, ...report.problems])] };
  }

  /** Verifies every byte: the digest of the file and the id of every chunk. */
  async verifyData(pack: PackContents): Promise<PackReport> {
    return await this.#withoutOldSize(pack, async () => this.#verifyData(pack));
  }

  /** Tries again if the pack was removed or cut since the listing. */
  async #withoutOldSize<T>({ id }: PackContents, verify: () => Promise<T>): Promise<T> {
    try {
      return await verify();
    } catch (error) {
      const mayBeOutdated = isAbsent(error) || error instanceof CorruptDataError;
      if (!(mayBeOutdated && this.#listed.delete(id))) throw error;
      return await verify();
    }
  }

  async #verifyData(pack: PackContents): Promise<PackReport> {
    const problems: string[] = [];
    const sizeBytes = await this.#sizeOf(pack);
    const problem = sizeProblem(pack, sizeBytes);
    if (problem !== undefined) problems.push(problem);
    if (sizeBytes === undefined) return { pack, problems, damagedChunks: allChunks(pack), bytesRead: 0 };
    // Extra bytes at the end are already reported as a problem, and no chunk is in them.
    const readBytes = Math.min(sizeBytes, pack.sizeBytes);
    const buffer = this.#buffers.take(readBytes);
    const bytes = buffer.subarray(0, readBytes);
    await this.#readBytes(pack, bytes, problems);
    const damagedChunks = await this.#verifyBytes(bytes, pack, problems);
    this.#buffers.give(buffer);
    return { pack, problems, damagedChunks, bytesRead: readBytes };
  }

  /** Reads a pack. Blocks that the disk cannot read are filled with zeros, which is not a valid block. */
  async #readBytes(pack: PackContents, bytes: Buffer, problems: string[]): Promise<void> {
    const name = packName(pack.id);
    try {
      await this.#backend.readRange(name, 0, bytes);
    } catch (error) {
      problems.push(unreadable(error));
      bytes.fill(0);
      for (const { offset, storedBytes, chunkLengths } of pack.blocks) {
        const block = bytes.subarray(offset, offset + blockBytes(chunkLengths.length, storedBytes));
        await this.#backend.readRange(name, offset, block).catch(unreadable);
      }
    }
  }

  /** Returns the hex ids of the chunks with wrong bytes. */
  async #verifyBytes(bytes: Buffer, pack: PackContents, problems: string[]): Promise<string[]> {
    if (packDigestOf(this.#packHash, bytes) === pack.id) {
      problems.push(...footerProblems(bytes, pack));
    } else {
      problems.push('its content has changed: its digest differs from its name');
    }
    const damaged = await mapConcurrently(pack.blocks, BLOCKS_AT_ONCE, async (block) =>
      this.#verifyBlock(bytes, pack.kind, block, problems),
    );
    return damaged.flat();
  }

  async #structureProblem(pack: PackContents): Promise<string | undefined> {
    const problem = sizeProblem(pack, await this.#sizeOf(pack));
    if (problem !== undefined) return problem;
    const expected = encodePackFooter(pack.blocks);
    const footer = Buffer.allocUnsafe(expected.length);
    await this.#backend.readRange(packName(pack.id), pack.sizeBytes - footer.length, footer);
    return footer.equals(expected) ? undefined : 'its footer differs from the segment';
  }

  async #sizeOf({ id, sizeBytes }: PackContents): Promise<number | undefined> {
    return this.#listed.get(id) === sizeBytes ? sizeBytes : await this.#backend.sizeOf(packName(id));
  }

  /** Returns the hex ids of the chunks in the block with wrong bytes. */
  async #verifyBlock(bytes: Buffer, packKind: ChunkKind, block: PackedBlock, problems: string[]): Promise<string[]> {
    try {
      const found = await this.#idsOf(bytes.subarray(block.offset), packKind, block);
      const damaged = chunksOf(block).filter((id, index) => id !== hexId(found, index * CHUNK_ID_BYTES));
      if (damaged.length > 0)
        problems.push(`${damaged.length} chunks in the block at offset ${block.offset} have wrong content`);
      return damaged;
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      problems.push(`the block at offset ${block.offset} cannot be read: ${error.message}`);
      return chunksOf(block);
    }
  }

  /** Computes the ids of the chunks in the block from its bytes. */
  async #idsOf(bytes: Buffer, packKind: ChunkKind, block: PackedBlock): Promise<Uint8Array> {
    const { header, chunkIds } = await this.#codec.verify(bytes);
    const { kind, rawBytes, storedBytes, chunkLengths } = header;
    const isSame = kind === packKind && rawBytes === block.rawBytes && storedBytes === block.storedBytes;
    if (!isSame || Buffer.compare(lengthsOf(chunkLengths), lengthsOf(block.chunkLengths)) !== 0) {
      throw new CorruptDataError('its header differs from the segment');
    }
    return chunkIds;
  }
}

function sizeProblem(pack: PackContents, foundBytes: number | undefined): string | undefined {
  if (foundBytes === undefined) return 'it is missing';
  return foundBytes === pack.sizeBytes ? undefined : `it has ${foundBytes} bytes instead of ${pack.sizeBytes}`;
}

/** Returns the message of a read error (EIO); throws any other error. */
function unreadable(error: unknown): string {
  if (error instanceof BackendError && error.kind === 'damaged') return error.message;
  throw error;
}

function footerProblems(bytes: Buffer, pack: PackContents): string[] {
  const expected = encodePackFooter(pack.blocks);
  const isSame = bytes.subarray(Math.max(0, bytes.length - expected.length)).equals(expected);
  return isSame && isHeaderOf(bytes, pack) ? [] : ['its header or footer differs from the segment'];
}

function isHeaderOf(bytes: Buffer, pack: PackContents): boolean {
  try {
    const { kind, headerBytes } = decodePackHeader(bytes);
    return kind === pack.kind && headerBytes === headerBytesOf(pack.blocks);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return false;
  }
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

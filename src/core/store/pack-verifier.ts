import { isDeepStrictEqual } from 'node:util';
import { packName } from '../format/layout.ts';
import type { Backend } from '../backend/backend.ts';
import { READS_MAX, unreliable } from '../backend/sure-reading.ts';
import { packDigestOf } from '../crypto/pack-digest.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError, isAbsent, isDamage, isDenied, isOffline } from '../errors.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { PackContents } from '../format/pack.ts';
import type { PackedBlock } from '../format/packed-block.ts';
import { BufferPool } from './buffer-pool.ts';
import type { BlockCodec } from './block-codec.ts';
import { summarizeCopies } from './pack-report.ts';
import type { CopyReport, PackProblem, PackReport } from './pack-report.ts';
import { endBytesOf, isEndOf, isHeaderOf } from './pack-end.ts';
import type { ChunkReader } from './chunk-reader.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';

/** Blocks of one pack that are decompressed at a time. */
const BLOCKS_AT_ONCE = 4;

export interface PackVerifierOptions {
  readonly backend: Backend;
  readonly codec: BlockCodec;
  readonly packHash: PackHash;
  /** The sizes of packs by id, as they were listed. */
  readonly listed?: ReadonlyMap<string, number> | undefined;
  /** Keeps verified blocks of trees in its cache. */
  readonly keptTrees?: ChunkReader | undefined;
}

/** Verifies packs against the contents that a segment lists. */
export class PackVerifier {
  readonly #backend: Backend;
  readonly #codec: BlockCodec;
  readonly #packHash: PackHash;
  /** Sizes by pack id, of a listing that may be outdated. One that is as expected saves a call. */
  readonly #listed: Map<string, number>;
  /** Buffers for whole packs. */
  readonly #buffers = new BufferPool({ sizeBytesMin: 1024 * 1024 });
  readonly #keptTrees: ChunkReader | undefined;

  constructor(made: PackVerifierOptions) {
    this.#backend = made.backend;
    this.#codec = made.codec;
    this.#packHash = made.packHash;
    this.#keptTrees = made.keptTrees;
    this.#listed = new Map(made.listed);
  }

  /** Verifies size and footer without reading the rest. If that fails, verifies every chunk. `copyId`: see `verifyData`. */
  async verifyStructure(pack: PackContents, copyId?: string): Promise<PackReport> {
    const verify = async (): Promise<PackProblem | undefined> => this.#structureProblem(pack, copyId ?? pack.id);
    const find = async (): Promise<PackProblem | undefined> => this.#withoutOldSize(pack, verify).catch(unreadable);
    // One wrong answer says nothing about what is stored.
    const problem = (await find()) && (await find());
    if (problem === undefined) return { pack, problems: [], damagedChunks: [], bytesRead: 0 };
    const report = await this.verifyData(pack, copyId);
    const others = report.problems.filter((other) => !isDeepStrictEqual(other, problem));
    // If the whole pack, with its size and footer, is right, both answers were wrong.
    return report.problems.length === 0 ? report : { ...report, problems: [problem, ...others] };
  }

  /**
   * Verifies every byte: the digest of the file and the id of every chunk. Calls a pack damaged only if two reads gave
   * the same wrong bytes. `copyId`: one certain copy of the pack, from `PackStore.copyIdsOf`.
   * @throws UnreliableReadError if every read gives other wrong bytes
   */
  async verifyData(pack: PackContents, copyId: string = pack.id): Promise<PackReport> {
    const wrong: PackReport[] = [];
    for (let count = 0; count < READS_MAX; count += 1) {
      const report = await this.#verifyOnce(pack, copyId);
      if (report === undefined) continue;
      const wasOffline = report.bytesRead === 0 && report.problems[0]?.kind === 'unreadable';
      if (report.problems.length === 0 || wasOffline || wrong.some((other) => isSameResult(other, report)))
        return report;
      wrong.push(report);
    }
    throw unreliable(this.#backend, packName(copyId));
  }

  /** Returns undefined if an answer of another machine ended before the pack does, or the pack was not there any more. */
  async #verifyOnce(pack: PackContents, copyId: string): Promise<PackReport | undefined> {
    return await this.#withoutOldSize(pack, async () => this.#verifyData(pack, copyId)).catch((error: unknown) => {
      if (error instanceof CorruptDataError || isAbsent(error)) return undefined;
      if (!isOffline(error)) throw error;
      return { pack, problems: [unreadable(error)], damagedChunks: allChunks(pack), bytesRead: 0 };
    });
  }

  /** Verifies each of several copies. */
  async verifyCopies(pack: PackContents, copyIds: readonly string[], readsData: boolean): Promise<PackReport> {
    const reports: CopyReport[] = [];
    for (const copyId of copyIds) {
      const verifying = readsData ? this.verifyData(pack, copyId) : this.verifyStructure(pack, copyId);
      const report = await verifying.catch((error: unknown): PackReport => {
        if (!isDenied(error)) throw error;
        const problems = [{ kind: 'unreadable', reason: error.message }] as const;
        return { pack, problems, damagedChunks: allChunks(pack), bytesRead: 0 };
      });
      reports.push({ copyId, report });
    }
    return summarizeCopies(pack, reports);
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

  async #verifyData(pack: PackContents, copyId: string): Promise<PackReport> {
    const problems: PackProblem[] = [];
    const sizeBytes = await this.#sizeOf(pack, copyId);
    const problem = sizeProblem(pack, sizeBytes);
    if (problem !== undefined) problems.push(problem);
    if (sizeBytes === undefined) return { pack, problems, damagedChunks: allChunks(pack), bytesRead: 0 };
    // Extra bytes at the end are already reported as a problem, and no chunk is in them.
    const readBytes = Math.min(sizeBytes, pack.sizeBytes);
    const buffer = this.#buffers.take(readBytes);
    const bytes = buffer.subarray(0, readBytes);
    const isUnread = await this.#readBytes(pack, copyId, bytes, problems);
    const digest = packDigestOf(this.#packHash, bytes);
    if (digest === pack.id) problems.push(...footerProblems(bytes, pack, this.#codec.seals));
    else problems.push({ kind: 'digest-differs' });
    const damagedChunks = await this.#verifyBlocks(bytes, pack, problems);
    this.#buffers.give(buffer);
    return { pack, problems, damagedChunks, bytesRead: readBytes, digest, isUnread };
  }

  /** Reads a pack; zeros, which are no valid block, for what the disk cannot read. Returns whether there is any. */
  async #readBytes(pack: PackContents, copyId: string, bytes: Buffer, problems: PackProblem[]): Promise<boolean> {
    const name = packName(copyId);
    try {
      await this.#backend.readRange(name, 0, bytes);
      return false;
    } catch (error) {
      // The size that was listed may be outdated. Otherwise, the answer of another machine is too short.
      const mayBeShort = this.#listed.has(pack.id) || this.#backend.localDirectory === undefined;
      if (error instanceof CorruptDataError && mayBeShort) throw error;
      problems.push(unreadable(error));
      bytes.fill(0);
      for (const { offset, sizeBytes } of pack.blocks) {
        const block = bytes.subarray(offset, offset + sizeBytes);
        await this.#backend.readRange(name, offset, block).catch(unreadable);
      }
      return !(error instanceof CorruptDataError);
    }
  }

  /** Returns the hex ids of the chunks with wrong bytes. */
  async #verifyBlocks(bytes: Buffer, pack: PackContents, problems: PackProblem[]): Promise<string[]> {
    const damaged = await mapConcurrently(pack.blocks, BLOCKS_AT_ONCE, async (block) =>
      this.#verifyBlock(bytes, pack, block, problems),
    );
    return damaged.flat();
  }

  async #structureProblem(pack: PackContents, copyId: string): Promise<PackProblem | undefined> {
    const problem = sizeProblem(pack, await this.#sizeOf(pack, copyId));
    if (problem !== undefined) return problem;
    const { seals } = this.#codec;
    const end = Buffer.allocUnsafe(endBytesOf(pack, seals));
    await this.#backend.readRange(packName(copyId), pack.sizeBytes - end.length, end);
    return isEndOf(end, pack, seals) ? undefined : { kind: 'footer-differs' };
  }

  /** The listing has the size of the longest copy. */
  async #sizeOf({ id, sizeBytes }: PackContents, copyId: string): Promise<number | undefined> {
    const isListed = copyId === id && this.#listed.get(id) === sizeBytes;
    return isListed ? sizeBytes : await this.#backend.sizeOf(packName(copyId));
  }

  /** Returns the hex ids of the chunks in the block with wrong bytes. */
  async #verifyBlock(
    bytes: Buffer,
    pack: PackContents,
    block: PackedBlock,
    problems: PackProblem[],
  ): Promise<string[]> {
    try {
      const found = await this.#idsOf(bytes.subarray(block.offset), pack, block);
      const damaged = chunksOf(block).filter((id, index) => id !== hexId(found, index * CHUNK_ID_BYTES));
      if (damaged.length > 0)
        problems.push({ kind: 'chunks-differ', blockOffset: block.offset, chunkCount: damaged.length });
      return damaged;
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      problems.push({ kind: 'block-unreadable', blockOffset: block.offset, reason: error.message });
      return chunksOf(block);
    }
  }

  /** Computes the ids of the chunks in the block from its bytes. */
  async #idsOf(bytes: Buffer, pack: PackContents, block: PackedBlock): Promise<Uint8Array> {
    const keeping = pack.kind === 'tree' ? this.#keptTrees?.keep(pack.id, block, bytes) : undefined;
    const { header, chunkIds } = await (keeping ?? this.#codec.verify(bytes));
    const { kind, rawBytes, storedBytes, chunkLengths } = header;
    const isSame = kind === pack.kind && rawBytes === block.rawBytes && storedBytes === block.storedBytes;
    if (!isSame || Buffer.compare(lengthsOf(chunkLengths), lengthsOf(block.chunkLengths)) !== 0) {
      throw new CorruptDataError('its header differs from the segment');
    }
    return chunkIds;
  }
}

function isSameResult(a: PackReport, b: PackReport): boolean {
  return isDeepStrictEqual([a.problems, a.digest], [b.problems, b.digest]);
}

/** Returns the problem for a read error (EIO), or a symlink in the place of a file; throws any other error. */
function unreadable(error: unknown): PackProblem {
  if (isDamage(error)) return { kind: 'unreadable', reason: error.message };
  throw error;
}

function sizeProblem({ sizeBytes }: PackContents, foundBytes: number | undefined): PackProblem | undefined {
  if (foundBytes === undefined) return { kind: 'missing' };
  return foundBytes === sizeBytes ? undefined : { kind: 'size', foundBytes, expectedBytes: sizeBytes };
}

function footerProblems(bytes: Buffer, pack: PackContents, seals: Seals): PackProblem[] {
  const isSame = isEndOf(bytes.subarray(Math.max(0, bytes.length - endBytesOf(pack, seals))), pack, seals);
  return isSame && isHeaderOf(bytes, pack) ? [] : [{ kind: 'header-or-footer-differs' }];
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

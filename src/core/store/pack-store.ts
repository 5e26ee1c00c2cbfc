import type { Backend } from '../backend/backend.ts';
import { readAsStored } from '../backend/sure-reading.ts';
import { packDigestOf } from '../crypto/pack-digest.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import { sha256 } from '../crypto/sha256.ts';
import { CorruptDataError, UnsupportedFormatError, isAbsent, isDamage } from '../errors.ts';
import { bufferOver } from '../format/byte-reader.ts';
import { baseName, packName } from '../format/layout.ts';
import { encodePackFooter } from '../format/pack.ts';
import type { BorrowedChunks } from '../format/borrowed-block.ts';
import type { PackContents } from '../format/pack.ts';
import type { PackedBlock } from '../format/packed-block.ts';
import type { BlockCodec, EncodedBlock, OpenedBlock, VerifiedBlock } from './block-codec.ts';
import { copyIdsOf, located, readPackContents, readStoredBlock } from './pack-reader.ts';
import { scanBlocks } from './pack-scan.ts';
import type { ScannedBlock } from './pack-scan.ts';
import { PackVerifier } from './pack-verifier.ts';
import type { PackVerifierOptions } from './pack-verifier.ts';

/** A verified block as it is stored, under the present key. */
export type StoredBlock = VerifiedBlock & { readonly stored: Uint8Array };

/** Reads whole packs and their blocks, for everything but the chunks that a snapshot needs (`ChunkReader`). */
export class PackStore {
  readonly #backend: Backend;
  readonly #codec: BlockCodec;
  readonly #packHash: PackHash;

  constructor(made: { readonly backend: Backend; readonly codec: BlockCodec; readonly packHash: PackHash }) {
    this.#backend = made.backend;
    this.#codec = made.codec;
    this.#packHash = made.packHash;
  }

  /** Whether packs are encrypted. */
  get isSealed(): boolean {
    return this.#codec.seals.keys !== undefined;
  }

  /** Whether packs that are not found may be in a part of the place that is offline. */
  get isPartlyOffline(): boolean {
    return (this.#backend.offlineParts ?? []).length > 0;
  }

  /** A digest of what is said about a pack. Segments that list the same pack may contradict each other. */
  digestOfListing({ kind, sizeBytes, blocks }: PackContents): string {
    return `${kind} ${sizeBytes} ${sha256(encodePackFooter(blocks))}`;
  }

  /** Returns the size of a pack in bytes, or undefined if it does not exist. */
  async sizeOf(packId: string): Promise<number | undefined> {
    return await this.#backend.sizeOf(packName(packId));
  }

  /** See `copyIdsOf`. */
  async copyIdsOf(packId: string): Promise<string[]> {
    return await copyIdsOf(this.#backend, packId);
  }

  /** Returns the names under which all copies of a pack are read that can be reached. Without groups, it is its own. */
  async copyNamesOf(packId: string): Promise<readonly string[]> {
    const name = packName(packId);
    return (await this.#backend.copiesOf?.(name)) ?? [name];
  }

  /**
   * Calls `read` with the id of a pack, and if what it reads is damaged, with those of its copies, until one is sound.
   * @throws CorruptDataError if none is
   */
  async fromAnyCopy<T>(packId: string, read: (id: string) => Promise<T>): Promise<T> {
    try {
      return await read(packId);
    } catch (error) {
      if (!isDamage(error)) throw error;
      for (const copyId of await this.copyIdsOf(packId)) {
        try {
          return await read(copyId);
        } catch (otherError) {
          if (!isDamage(otherError)) throw otherError;
        }
      }
      throw error;
    }
  }

  /** Returns the sizes of those of the packs that exist now, by id. `ask` may ask for more with the same request. */
  async sizesOf(
    packIds: readonly string[],
    ask: Backend['sizesOf'] = async (names) => this.#backend.sizesOf(names),
  ): Promise<ReadonlyMap<string, number>> {
    const sizes = await ask(packIds.map(packName));
    return new Map([...sizes].map(([name, sizeBytes]) => [baseName(name), sizeBytes]));
  }

  /**
   * Reads the contents of a pack from its own footer. `listedBytes`, its size as it was listed, saves a call.
   * @throws CorruptDataError
   * @throws UnsupportedFormatError if the pack is of a newer format
   */
  async readContents(packId: string, listedBytes?: number): Promise<PackContents> {
    return await readPackContents({ backend: this.#backend, seals: this.#codec.seals }, packId, listedBytes);
  }

  /**
   * Like `readContents`, but returns undefined for a damaged pack. Throws if the pack is intact but of a newer format.
   */
  async readSoundContents(
    packId: string,
    listedBytes?: number,
    isFinding: (error: unknown) => boolean = (error) => error instanceof CorruptDataError,
  ): Promise<PackContents | undefined> {
    try {
      return await this.readContents(packId, listedBytes);
    } catch (error) {
      if (isFinding(error)) return undefined;
      if (!(error instanceof UnsupportedFormatError)) throw error;
      const bytes = await this.#backend.read(packName(packId));
      if (packDigestOf(this.#packHash, bytes) === packId) throw error;
      return undefined;
    }
  }

  /**
   * Reads and decompresses a block.
   * @throws CorruptDataError
   */
  async openBlock(pack: PackContents, block: PackedBlock): Promise<OpenedBlock> {
    return await this.#located(pack, block, async (stored) => this.#codec.open(stored));
  }

  /**
   * Reads a block of borrowed chunks.
   * @throws CorruptDataError
   */
  async openBorrowed(pack: PackContents, block: PackedBlock): Promise<BorrowedChunks & VerifiedBlock> {
    return await this.#located(pack, block, async (stored) => this.#codec.openBorrowed(stored));
  }

  /** Returns the block, ready to be written to a pack of its own kind, that says who keeps some chunks. */
  encodeBorrowed(chunks: BorrowedChunks): EncodedBlock {
    return this.#codec.encodeBorrowed(chunks);
  }

  /**
   * Reads a block as it is to be stored in another pack, and computes the ids of its chunks.
   * @throws CorruptDataError
   */
  async verifyBlock(pack: PackContents, block: PackedBlock): Promise<StoredBlock> {
    return await this.#located(pack, block, async (stored) => {
      const verified = await this.#codec.verify(stored);
      return { stored: this.#codec.reseal(stored), ...verified };
    });
  }

  async #located<T extends { readonly chunkIds: Uint8Array }>(
    { id: packId, sizeBytes: packBytes }: PackContents,
    { offset, sizeBytes: expectedBytes, chunkIds }: PackedBlock,
    decode: (stored: Uint8Array) => Promise<T>,
  ): Promise<T> {
    const read = async (from: Backend): Promise<T> => {
      const stored = await readStoredBlock(from, { packId, offset, packBytes, expectedBytes });
      try {
        return await decode(stored);
      } catch (error) {
        throw located(error, `${packName(packId)} at offset ${offset}`);
      }
    };
    // The caller finds out which chunks are wrong.
    const isRight = (found: T): boolean => Buffer.compare(found.chunkIds, chunkIds) === 0;
    return await readAsStored(this.#backend, packName(packId), read, isRight);
  }

  /**
   * Visits the readable blocks of a pack, whatever its footer says, one after the other. Returns the size of the pack in
   * bytes. A symlink to nothing has none, and neither has a pack that is gone.
   */
  async scan(packId: string, visit: (scanned: ScannedBlock) => Promise<void>): Promise<number> {
    const isRight = (bytes: Uint8Array): boolean => packId.startsWith(packDigestOf(this.#packHash, bytes));
    const name = packName(packId);
    const reading = readAsStored(this.#backend, name, async (from) => from.read(name), isRight);
    const read = await reading.catch((error: unknown) => {
      if (error instanceof CorruptDataError || isAbsent(error)) return Buffer.alloc(0);
      throw error;
    });
    const bytes = bufferOver(read);
    await scanBlocks(bytes, this.#codec, visit);
    return bytes.length;
  }

  /**
   * Verifies packs. A verifier reuses its buffers. `listed`: the sizes of packs by id, as they were listed. `keptTrees`
   * keeps verified blocks of trees in its cache.
   */
  createVerifier(options: Pick<PackVerifierOptions, 'listed' | 'keptTrees'> = {}): PackVerifier {
    return new PackVerifier({ backend: this.#backend, codec: this.#codec, packHash: this.#packHash, ...options });
  }
}

import { randomBytes } from 'node:crypto';
import type { StagedFile } from '../backend/backend.ts';
import { createPackDigest } from '../crypto/pack-digest.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import type { RunningDigest } from '../crypto/blake3.ts';
import type { Seals } from '../crypto/seals.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { encodePackHeader } from '../format/pack-header.ts';
import { NONCE_BYTES } from '../format/constants.ts';
import { packName } from '../format/layout.ts';
import type { PackContents } from '../format/pack.ts';
import type { PackedBlock } from '../format/packed-block.ts';
import type { EncodedBlock } from './block-codec.ts';
import { encodePackEnd } from './pack-end.ts';

/** Destination of finished packs. The repository implements it, because it controls the order of durable writes. */
export interface PackSink {
  /** Begins a new pack with chunks of a kind, to be published as `packName(id)`. */
  create(kind: ChunkKind): Promise<StagedFile>;
  /** How many packs with contents of files are worth publishing at once. Default: one after the other. */
  readonly packsAtOnce?: number | undefined;
  readonly packNotes?: PackNotes | undefined;
}

/** Learns of what happens to new packs, each time right before it does. */
export interface PackNotes {
  /** A pack gets its name. */
  readonly onNaming: (packId: string) => void;
  /** A segment lists packs. From then on, what others write may rely on them. */
  readonly onIndexing: (packIds: readonly string[]) => void;
}

/**
 * Writes blocks of one kind to packs, one pack after the other. Those that are complete may be published while the next
 * one is written. Once a publication has failed, every later call except `abort` fails. Calls must not overlap.
 */
export class PackWriter {
  readonly #sink: PackSink;
  readonly #kind: ChunkKind;
  readonly #packHash: PackHash;
  readonly #seals: Seals;
  readonly #packBytes: number;
  readonly #onPack: (pack: PackContents) => void;
  #open: { readonly file: StagedFile; readonly digest: RunningDigest } | undefined;
  #offset = 0;
  #blocks: PackedBlock[] = [];
  /** None of these promises is ever rejected. */
  readonly #publications = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: {
    readonly sink: PackSink;
    readonly kind: ChunkKind;
    readonly packHash: PackHash;
    readonly seals: Seals;
    /** A pack is closed once it reaches this size. */
    readonly packBytes: number;
    /** Called with each pack after it is published. */
    readonly onPack: (pack: PackContents) => void;
  }) {
    this.#sink = options.sink;
    this.#kind = options.kind;
    this.#packHash = options.packHash;
    this.#seals = options.seals;
    this.#packBytes = options.packBytes;
    this.#onPack = options.onPack;
  }

  async writeBlock(block: EncodedBlock): Promise<void> {
    this.#raise();
    if (this.#open === undefined) await this.#begin();
    const { sizeBytes, codec, rawBytes, storedBytes, pieces, chunkIds, chunkLengths } = block;
    const offset = this.#offset;
    for (const piece of pieces) await this.#append(piece);
    this.#blocks.push({ offset, sizeBytes, codec, rawBytes, storedBytes, chunkIds, chunkLengths });
    if (this.#offset < this.#packBytes) return;
    await this.#complete();
    const { packsAtOnce = 1 } = this.#sink;
    await this.#publishedExcept(this.#kind === 'data' ? packsAtOnce - 1 : 0);
  }

  /** Publishes the unfinished pack, if any, and waits until all are published. */
  async finish(): Promise<void> {
    if (this.#open !== undefined) await this.#complete();
    await this.#publishedExcept(0);
  }

  /** Waits for publications that are under way, and discards the unfinished pack. */
  async abort(): Promise<void> {
    await Promise.all(this.#publications);
    const open = this.#open;
    this.#open = undefined;
    await open?.file.discard();
  }

  /** Begins to publish the pack. */
  async #complete(): Promise<void> {
    const { file, digest } = this.#open!;
    const blocks = this.#blocks;
    await this.#append(encodePackEnd({ kind: this.#kind, blocks }, this.#seals));
    const id = digest.end();
    this.#open = undefined;
    this.#blocks = [];
    const pack = { id, kind: this.#kind, sizeBytes: this.#offset, isSealed: this.#isSealed, blocks };
    const publication = this.#publish(file, pack).finally(() => this.#publications.delete(publication));
    this.#publications.add(publication);
  }

  async #publish(file: StagedFile, pack: PackContents): Promise<void> {
    try {
      this.#sink.packNotes?.onNaming(pack.id);
      await file.publish(packName(pack.id));
      this.#onPack(pack);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  /** Waits until at most `count` publications are in flight. */
  async #publishedExcept(count: number): Promise<void> {
    while (this.#publications.size > count) await Promise.race(this.#publications);
    this.#raise();
  }

  #raise(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #begin(): Promise<void> {
    // Created before the file, because this throws if the installation is broken.
    const digest = createPackDigest(this.#packHash);
    this.#open = { file: await this.#sink.create(this.#kind), digest };
    this.#offset = 0;
    this.#blocks = [];
    await this.#append(encodePackHeader(this.#isSealed ? undefined : this.#kind, randomBytes(NONCE_BYTES)));
  }

  get #isSealed(): boolean {
    return this.#seals.keys !== undefined;
  }

  async #append(bytes: Uint8Array): Promise<void> {
    const { file, digest } = this.#open!;
    digest.update(bytes);
    await file.append(bytes);
    this.#offset += bytes.length;
  }
}

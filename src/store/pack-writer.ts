import { randomBytes } from 'node:crypto';
import type { StagedFile } from '../backend/backend.ts';
import { createPackDigest } from '../crypto/pack-digest.ts';
import type { PackHash, RunningDigest } from '../crypto/pack-digest.ts';
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
}

/** Writes blocks of one kind to packs, one pack after the other. Calls must not overlap. */
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
    if (this.#open === undefined) await this.#begin();
    const { sizeBytes, codec, rawBytes, storedBytes, pieces, chunkIds, chunkLengths } = block;
    const offset = this.#offset;
    for (const piece of pieces) await this.#append(piece);
    this.#blocks.push({ offset, sizeBytes, codec, rawBytes, storedBytes, chunkIds, chunkLengths });
    if (this.#offset >= this.#packBytes) await this.finish();
  }

  /** Publishes the unfinished pack, if any. */
  async finish(): Promise<void> {
    if (this.#open === undefined) return;
    const { file, digest } = this.#open;
    const blocks = this.#blocks;
    await this.#append(encodePackEnd({ kind: this.#kind, blocks }, this.#seals));
    const id = digest.end();
    await file.publish(packName(id));
    this.#open = undefined;
    this.#blocks = [];
    this.#onPack({ id, kind: this.#kind, sizeBytes: this.#offset, isSealed: this.#isSealed, blocks });
  }

  async abort(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.file.discard();
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

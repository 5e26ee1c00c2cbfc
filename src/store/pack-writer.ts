import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { encodeBlockHeader } from '../format/block.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { encodePackFooter, encodePackHeader } from '../format/pack.ts';
import type { PackContents, PackedBlock } from '../format/pack.ts';
import type { Codec } from '../format/block.ts';
import type { PackFile, PackSink } from './pack-sink.ts';

/** A block ready to be written. */
export interface StoredBlock {
  readonly codec: Codec;
  readonly rawBytes: number;
  readonly payload: Uint8Array;
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
}

/** Writes blocks of one kind into packs, one after the other. Calls must not overlap. */
export class PackWriter {
  readonly #sink: PackSink;
  readonly #kind: ChunkKind;
  readonly #packBytes: number;
  readonly #onPack: (pack: PackContents) => void;
  #file: PackFile | undefined;
  #hash: Hash = createHash('sha256');
  #offset = 0;
  #blocks: PackedBlock[] = [];

  constructor(options: {
    readonly sink: PackSink;
    readonly kind: ChunkKind;
    /** A pack with so many bytes is closed. */
    readonly packBytes: number;
    /** Hears of each pack once it is published. */
    readonly onPack: (pack: PackContents) => void;
  }) {
    this.#sink = options.sink;
    this.#kind = options.kind;
    this.#packBytes = options.packBytes;
    this.#onPack = options.onPack;
  }

  async writeBlock(block: StoredBlock): Promise<void> {
    const file = this.#file ?? (await this.#begin());
    const { codec, rawBytes, payload, chunkIds, chunkLengths } = block;
    const storedBytes = payload.length;
    const offset = this.#offset;
    await this.#append(file, encodeBlockHeader({ kind: this.#kind, codec, rawBytes, storedBytes, chunkLengths }));
    await this.#append(file, payload);
    this.#blocks.push({ offset, codec, rawBytes, storedBytes, chunkIds, chunkLengths });
    if (this.#offset >= this.#packBytes) await this.finish();
  }

  /** Publishes the pack begun, if there is one. */
  async finish(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    await this.#append(file, encodePackFooter(this.#blocks));
    const id = this.#hash.digest('hex');
    await file.publish(id);
    this.#file = undefined;
    this.#onPack({ id, kind: this.#kind, sizeBytes: this.#offset, blocks: this.#blocks });
  }

  async abort(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.abort();
  }

  async #begin(): Promise<PackFile> {
    this.#file = await this.#sink.create();
    this.#hash = createHash('sha256');
    this.#offset = 0;
    this.#blocks = [];
    await this.#append(this.#file, encodePackHeader(this.#kind));
    return this.#file;
  }

  async #append(file: PackFile, bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    await file.writer.append(bytes);
    this.#offset += bytes.length;
  }
}

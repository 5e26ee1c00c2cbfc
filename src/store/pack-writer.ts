import type { PackHash } from '../crypto/pack-digest.ts';
import { encodeBlockHeader } from '../format/block.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { encodePackFooter, encodePackHeader } from '../format/pack.ts';
import type { PackContents, PackedBlock } from '../format/pack.ts';
import type { Codec } from '../format/block.ts';
import { StreamDigest } from '../workers/hashing.ts';
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
  readonly #packHash: PackHash;
  readonly #packBytes: number;
  readonly #onPack: (pack: PackContents) => void;
  #open: { readonly file: PackFile; readonly digest: StreamDigest } | undefined;
  #offset = 0;
  #blocks: PackedBlock[] = [];

  constructor(options: {
    readonly sink: PackSink;
    readonly kind: ChunkKind;
    readonly packHash: PackHash;
    /** A pack with so many bytes is closed. */
    readonly packBytes: number;
    /** Hears of each pack once it is published. */
    readonly onPack: (pack: PackContents) => void;
  }) {
    this.#sink = options.sink;
    this.#kind = options.kind;
    this.#packHash = options.packHash;
    this.#packBytes = options.packBytes;
    this.#onPack = options.onPack;
  }

  /** The payload must not change until the promise that comes back settles: it is hashed beside the caller. */
  async writeBlock(block: StoredBlock): Promise<{ readonly hashed: Promise<void> }> {
    this.#open ??= await this.#begin();
    const { codec, rawBytes, payload, chunkIds, chunkLengths } = block;
    const storedBytes = payload.length;
    const offset = this.#offset;
    const header = encodeBlockHeader({ kind: this.#kind, codec, rawBytes, storedBytes, chunkLengths });
    const hashed = this.#open.digest.update([header, payload]);
    // The end of the digest fails then, too, and so the pack.
    hashed.catch(() => undefined);
    await this.#append(header);
    await this.#append(payload);
    this.#blocks.push({ offset, codec, rawBytes, storedBytes, chunkIds, chunkLengths });
    if (this.#offset >= this.#packBytes) await this.finish();
    return { hashed };
  }

  /** Publishes the pack begun, if there is one. */
  async finish(): Promise<void> {
    if (this.#open === undefined) return;
    const { file, digest } = this.#open;
    const footer = encodePackFooter(this.#blocks);
    const hashed = digest.update([footer]);
    await this.#append(footer);
    await hashed;
    const id = await digest.end();
    await file.publish(id);
    this.#open = undefined;
    this.#onPack({ id, kind: this.#kind, sizeBytes: this.#offset, blocks: this.#blocks });
  }

  async abort(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.digest.end().catch(() => undefined);
    await open?.file.abort();
  }

  async #begin(): Promise<{ readonly file: PackFile; readonly digest: StreamDigest }> {
    const open = { file: await this.#sink.create(), digest: new StreamDigest(this.#packHash) };
    this.#open = open;
    this.#offset = 0;
    this.#blocks = [];
    const header = encodePackHeader(this.#kind);
    await open.digest.update([header]);
    await this.#append(header);
    return open;
  }

  async #append(bytes: Uint8Array): Promise<void> {
    await this.#open!.file.writer.append(bytes);
    this.#offset += bytes.length;
  }
}

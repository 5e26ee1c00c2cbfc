import type { ChunkSaver, HashingChunk } from '../../src/core/saving/chunk-saver.ts';
import type { StagedChunk } from '../../src/core/store/chunk-writer.ts';

/** Keeps the bytes of every chunk in the order of arrival. Every id is 0. */
export class RecordingSaver implements ChunkSaver {
  readonly stored: Uint8Array[] = [];
  /** Chunks whose memory nobody gave back. */
  readonly staged: Map<HashingChunk, Uint8Array> = new Map();
  readonly #onPut: () => void;

  constructor(onPut: () => void = () => undefined) {
    this.#onPut = onPut;
  }

  has(): boolean {
    return false;
  }

  hasFile(): boolean {
    return false;
  }

  put(_: string, __: Uint8Array, bytes: Uint8Array): undefined {
    this.stored.push(Uint8Array.from(bytes));
    this.#onPut();
  }

  stage(bytes: Uint8Array): HashingChunk {
    const hashing = { result: async () => new Uint8Array(20), drop: async () => undefined };
    const chunk = { lengthBytes: bytes.length, bytes: Uint8Array.from(bytes), hashing };
    this.staged.set(chunk, Uint8Array.from(bytes));
    return chunk;
  }

  async putStaged(chunk: HashingChunk): Promise<Uint8Array> {
    this.stored.push(this.staged.get(chunk)!);
    this.staged.delete(chunk);
    this.#onPut();
    return await chunk.hashing.result();
  }

  drop(chunk: HashingChunk): void {
    if (!this.staged.delete(chunk)) throw new Error('dropped twice, or never staged');
  }

  allocate(sizeBytes: number): Buffer {
    return Buffer.alloc(sizeBytes);
  }

  putLarge(treeId: Uint8Array, { buffer, lengthBytes }: StagedChunk): undefined {
    this.put('tree', treeId, buffer.subarray(0, lengthBytes));
  }

  async finish(): Promise<void> {}

  async abandon(): Promise<void> {}
}

import type { Repository } from '../repository/repository.ts';
import { TreeEncoder } from '../format/tree/tree.ts';
import type { ChunkSaver } from './chunk-saver.ts';
import type { ParentTree } from '../sources/parent-tree.ts';
import type { RemovedEntries } from './removed-entries.ts';

/** The size of an entry with one chunk and a name of ordinary length. */
const ENTRY_BYTES = 128;

/** Encodes and stores the trees of directories. */
export class TreeSaver {
  readonly #hasher: Repository['hasher'];
  readonly #chunks: ChunkSaver;
  readonly #removed: RemovedEntries;
  readonly #allocate = (sizeBytes: number): Buffer => this.#chunks.allocate(sizeBytes);

  constructor(hasher: Repository['hasher'], chunks: ChunkSaver, removed: RemovedEntries) {
    this.#hasher = hasher;
    this.#chunks = chunks;
    this.#removed = removed;
  }

  /** Begins the tree of a directory with `nameCount` names. `before`: the directory in the parent snapshot. */
  begin(before: ParentTree | undefined, nameCount: number): TreeEncoder {
    return new TreeEncoder({
      ...(before === undefined ? {} : { before: before.bytes }),
      allocate: this.#allocate,
      expectedBytes: nameCount * ENTRY_BYTES,
    });
  }

  /** Stores the tree and returns its id. A tree equal to `before` is neither hashed nor compared again. */
  async save(encoder: TreeEncoder, before: ParentTree | undefined): Promise<Uint8Array> {
    const { bytes, memory } = encoder.finish();
    const isSame = before !== undefined && (bytes === before.bytes || Buffer.compare(bytes, before.bytes) === 0);
    if (before !== undefined && !isSame) await this.#removed.compare(before.bytes, bytes);
    const id = isSame ? before.id : this.#hasher.treeId(bytes);
    const isEarlier = isSame && before.isOfSnapshot;
    if (memory === undefined) await this.#chunks.put('tree', id, bytes, isEarlier);
    else await this.#chunks.putLarge(id, { buffer: memory, lengthBytes: bytes.length }, isEarlier);
    return id;
  }
}

import assert from 'node:assert/strict';
import { blockBytes } from '../format/block.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';

/** What the filter state knows of a pack; its chunks are in the filter. */
export interface PackInfo {
  /** The digest of the pack's bytes, 64 lowercase hex digits. */
  readonly id: string;
  readonly kind: ChunkKind;
  readonly sizeBytes: number;
  readonly chunkCount: number;
  /** The blocks with their headers and tables: what the shares of the pack's chunks add up to. */
  readonly storedBytes: number;
}

/**
 * The packs of a filter state. A location in the filter names a pack by its index here, four bytes instead of
 * thirty-two. An index is never used a second time, so that a location can be stale but never wrong.
 */
export class PackTable {
  readonly #packs: (PackInfo | undefined)[] = [];
  readonly #indexes = new Map<string, number>();

  get count(): number {
    return this.#indexes.size;
  }

  /** The index of the pack, which is added unless a pack with its id is known. */
  add(pack: PackContents): number {
    return this.find(pack.id) ?? this.addInfo(packInfoOf(pack));
  }

  addInfo(info: PackInfo): number {
    const known = this.#indexes.get(info.id);
    if (known !== undefined) return known;
    const index = this.#packs.push(info) - 1;
    this.#indexes.set(info.id, index);
    return index;
  }

  ids(): IterableIterator<string> {
    return this.#indexes.keys();
  }

  find(id: string): number | undefined {
    return this.#indexes.get(id);
  }

  has(index: number): boolean {
    return this.#packs[index] !== undefined;
  }

  get(index: number): PackInfo {
    const pack = this.#packs[index];
    assert(pack !== undefined, `no pack has the index ${index}`);
    return pack;
  }

  /** The caller has moved or forgotten every chunk whose location names this index. */
  remove(index: number): void {
    this.#indexes.delete(this.get(index).id);
    this.#packs[index] = undefined;
  }

  forEach(visit: (pack: PackInfo, index: number) => void): void {
    this.#packs.forEach((pack, index) => {
      if (pack !== undefined) visit(pack, index);
    });
  }
}

export function packInfoOf(pack: PackContents): PackInfo {
  let chunkCount = 0;
  let storedBytes = 0;
  for (const block of pack.blocks) {
    chunkCount += block.chunkLengths.length;
    storedBytes += blockBytes(block.chunkLengths.length, block.storedBytes);
  }
  return { id: pack.id, kind: pack.kind, sizeBytes: pack.sizeBytes, chunkCount, storedBytes };
}

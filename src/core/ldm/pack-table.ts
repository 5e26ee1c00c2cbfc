import assert from 'node:assert/strict';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';

/** The data that the filter state keeps about a pack whose chunks are in the filter. */
export interface PackInfo {
  /** Hex digest of the pack (BLAKE3 or SHA-256), 64 lowercase digits. */
  readonly id: string;
  readonly kind: ChunkKind;
  readonly sizeBytes: number;
  readonly chunkCount: number;
  /** Size of the blocks including their headers and tables, the sum of the shares of all chunks in the pack. */
  readonly storedBytes: number;
  /** Whether another domain keeps the bytes of its chunks. */
  readonly isBorrowed: boolean;
}

/** Whether the copy of a chunk in pack `a` takes precedence over that in `b`: bytes that are here, then the smaller id. */
export function takesPrecedence(
  a: Pick<PackInfo, 'id' | 'isBorrowed'>,
  b: Pick<PackInfo, 'id' | 'isBorrowed'>,
): boolean {
  return a.isBorrowed === b.isBorrowed ? a.id < b.id : b.isBorrowed;
}

/**
 * The packs of a filter state. A location in the filter refers to a pack by its index here, 4 bytes instead of 32. An
 * index is never reused, so a location can be stale but never refer to the wrong pack.
 */
export class PackTable {
  readonly #packs: (PackInfo | undefined)[] = [];
  readonly #indexes = new Map<string, number>();

  get count(): number {
    return this.#indexes.size;
  }

  /** Returns the index of the pack, and adds the pack if its id is unknown. */
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

  /** Removes a pack. The caller must first have moved or forgotten every chunk whose location uses this index. */
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
    storedBytes += block.sizeBytes;
  }
  const isBorrowed = pack.blocks[0]?.codec === 'borrowed';
  return { id: pack.id, kind: pack.kind, sizeBytes: pack.sizeBytes, chunkCount, storedBytes, isBorrowed };
}

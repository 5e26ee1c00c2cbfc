import { ByteWriter } from '../../core/format/byte-writer.ts';
import { EncodedEntry } from '../../core/format/tree/encoded-entry.ts';
import type { EntryOwner } from '../../core/format/tree/encoded-entry.ts';
import { entryBytes, writeEntry } from '../../core/format/tree/tree-entry-encoder.ts';
import { ENTRY_OFFSETS } from '../../core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../core/format/tree/tree-entry.ts';

const SLAB_BYTES = 1024 * 1024;
/** A handle is the number of a slab and an offset in it. */
const SLAB_SPAN = 2 ** 32;

/** Keeps entries as bytes: a million objects would take several times as much memory. */
export class EntryArena {
  readonly #slabs: Buffer[] = [];
  #usedBytes = SLAB_BYTES;
  readonly #owners: EntryOwner[] = [];
  readonly #ownerIndexes = new Map<string, number>();

  /** Keeps an entry. Returns its handle. */
  add(entry: TreeEntry): number {
    const sizeBytes = entryBytes(entry);
    if (this.#usedBytes + sizeBytes > (this.#slabs.at(-1)?.length ?? 0)) {
      this.#slabs.push(Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, sizeBytes)));
      this.#usedBytes = 0;
    }
    const slab = this.#slabs.at(-1)!;
    const offset = this.#usedBytes;
    this.#usedBytes += sizeBytes;
    const writer = new ByteWriter(sizeBytes, slab.subarray(offset, offset + sizeBytes));
    writeEntry(writer, entry, this.#ownerIndex(entry));
    return (this.#slabs.length - 1) * SLAB_SPAN + offset;
  }

  get(handle: number): EncodedEntry {
    const slab = this.#slabs[Math.floor(handle / SLAB_SPAN)]!;
    const offset = handle % SLAB_SPAN;
    return new EncodedEntry(slab, offset, this.#owners[slab.readUInt32LE(offset + ENTRY_OFFSETS.owner)]!);
  }

  #ownerIndex({ uid, gid, user, group }: EntryOwner): number {
    const key = `${uid}:${gid}:${user.length}:${user}${group}`;
    const known = this.#ownerIndexes.get(key);
    if (known !== undefined) return known;
    this.#ownerIndexes.set(key, this.#owners.length);
    return this.#owners.push({ uid, gid, user, group }) - 1;
  }
}

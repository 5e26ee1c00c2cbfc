import { isDamage } from '../../errors.ts';
import { decodeTree } from '../../format/tree.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { StateReader } from '../../repository/state-reader.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** A directory in the snapshot that a backup is compared with. */
export interface ParentTree {
  readonly id: Uint8Array;
  /** Serialised, and proved against the id. */
  readonly bytes: Uint8Array;
  readonly entries: ReadonlyMap<ByteString, TreeEntry>;
}

/** Reads a tree of the parent snapshot; one that cannot be read only means that its files are read again. */
export async function readParentTree(reader: StateReader, id: Uint8Array | undefined): Promise<ParentTree | undefined> {
  if (id === undefined) return undefined;
  try {
    const bytes = await reader.read(id, 0);
    return { id, bytes, entries: new Map(decodeTree(bytes).map((entry) => [entry.name, entry])) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

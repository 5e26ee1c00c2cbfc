import { isDamage } from '../../errors.ts';
import { decodeTree } from '../../format/tree.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { StateReader } from '../../repository/state-reader.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** The entries of a directory in the snapshot that a backup is compared with. */
export type ParentEntries = ReadonlyMap<ByteString, TreeEntry>;

const NOTHING: ParentEntries = new Map();

/** Reads a tree of the parent snapshot; one that cannot be read only means that its files are read again. */
export async function readParentEntries(reader: StateReader, treeId: Uint8Array | undefined): Promise<ParentEntries> {
  if (treeId === undefined) return NOTHING;
  try {
    const entries = decodeTree(await reader.read(treeId, 0));
    return new Map(entries.map((entry) => [entry.name, entry]));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return NOTHING;
  }
}

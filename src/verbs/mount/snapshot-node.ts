import { FileNode } from './fuse/file-node.ts';
import type { DirectoryListing, NodeAttribute, OpenFile } from './fuse/file-node.ts';
import type { FuseAttributes, InodeNumber } from './fuse/attributes.ts';
import type { EntryType, TreeEntry } from '../../core/format/tree/tree-entry.ts';
import type { TreeIndex } from '../../core/format/tree/tree-index.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { sameFileKey } from '../../core/snapshots/same-file.ts';
import { inodeOfLink, inodeOfName } from './inode-numbers.ts';

/** What all nodes of one snapshot share. */
interface SnapshotSurroundings {
  readonly rootInode: InodeNumber;
  /** Replaces the owners of all files. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  readonly openTree: (treeId: Uint8Array) => Promise<TreeIndex>;
  readonly openFile: (entry: TreeEntry) => Promise<OpenFile>;
  /** Files with several names that the kernel knows, by the key that their names share (`sameFileKey`). */
  readonly links: Map<string, SnapshotNode>;
}

const TYPE_BITS: Readonly<Record<EntryType, number>> = {
  fifo: 0o010_000,
  'character-device': 0o020_000,
  directory: 0o040_000,
  'block-device': 0o060_000,
  file: 0o100_000,
  symlink: 0o120_000,
  socket: 0o140_000,
};

/** A file or directory in a snapshot. */
export class SnapshotNode extends FileNode {
  readonly isConstant = true;
  readonly #in: SnapshotSurroundings;
  readonly #entry: TreeEntry;
  readonly #inode: InodeNumber;
  readonly #onForgotten: () => void;
  /** Kept while it is used elsewhere or until memory is needed. Nodes of its entries use its bytes. */
  #tree: WeakRef<TreeIndex> | undefined;
  /** The nodes of entries that the kernel knows, by their positions in the tree. */
  #children: Map<number, SnapshotNode> | undefined;

  constructor(
    surroundings: SnapshotSurroundings,
    entry: TreeEntry,
    place: { readonly inode: InodeNumber; readonly onForgotten: () => void },
  ) {
    super();
    this.#in = surroundings;
    this.#entry = entry;
    this.#inode = place.inode;
    this.#onForgotten = place.onForgotten;
  }

  override forgotten(): void {
    this.#onForgotten();
  }

  override attributes(): FuseAttributes {
    const entry = this.#entry;
    const { uid, gid } = this.#in.owner ?? entry;
    const sizeBytes = entry.type === 'symlink' ? entry.linkTarget.length : entry.sizeBytes;
    return {
      inode: this.#inode,
      mode: modeOf(entry),
      // A directory has 1, as in btrfs: the number of its subdirectories would take reading its tree.
      linkCount: entry.hardlink?.linkCount ?? 1,
      uid,
      gid,
      sizeBytes,
      blockCount: entry.type === 'file' ? blocksOf(entry) : 0,
      modifiedSeconds: entry.mtimeSeconds,
      modifiedNanoseconds: entry.mtimeNanoseconds,
      changedSeconds: entry.ctimeSeconds,
      changedNanoseconds: entry.ctimeNanoseconds,
      deviceMajor: entry.deviceMajor,
      deviceMinor: entry.deviceMinor,
    };
  }

  override lookup(name: ByteString): SnapshotNode | undefined | Promise<SnapshotNode | undefined> {
    const find = (tree: TreeIndex): SnapshotNode | undefined => {
      const index = tree.indexOf(name);
      return index < 0 ? undefined : this.#childAt(tree, index);
    };
    const tree = this.#tree?.deref();
    return tree === undefined ? this.#readTree().then(find) : find(tree);
  }

  override async list(): Promise<DirectoryListing> {
    const tree = this.#tree?.deref() ?? (await this.#readTree());
    return {
      count: tree.count,
      entryAt: (index) => {
        const entry = tree.at(index);
        return { name: entry.name, inode: this.#inodeOf(entry), mode: modeOf(entry) };
      },
      nodeAt: (index) => this.#childAt(tree, index),
    };
  }

  override linkTarget(): ByteString {
    return this.#entry.linkTarget;
  }

  override async open(): Promise<OpenFile> {
    return await this.#in.openFile(this.#entry);
  }

  override extendedAttributes(): readonly NodeAttribute[] {
    return this.#entry.xattrs;
  }

  async #readTree(): Promise<TreeIndex> {
    const { treeId } = this.#entry;
    if (treeId === undefined) throw new Error('not a directory');
    const tree = await this.#in.openTree(treeId);
    this.#tree = new WeakRef(tree);
    return tree;
  }

  #childAt(tree: TreeIndex, index: number): SnapshotNode {
    const entry = tree.at(index);
    const key = sameFileKey(entry);
    if (key !== undefined) return this.#linkedNode(entry, key);
    this.#children ??= new Map();
    const children = this.#children;
    const known = children.get(index);
    if (known !== undefined) return known;
    const inode = this.#inodeOf(entry);
    const node = new SnapshotNode(this.#in, entry, { inode, onForgotten: () => void children.delete(index) });
    children.set(index, node);
    return node;
  }

  /** All names of a file with the same content are one node, so that the kernel caches the content once. */
  #linkedNode(entry: TreeEntry, key: string): SnapshotNode {
    const { links } = this.#in;
    const known = links.get(key);
    if (known !== undefined) return known;
    const inode = this.#inodeOf(entry);
    const node = new SnapshotNode(this.#in, entry, { inode, onForgotten: () => void links.delete(key) });
    links.set(key, node);
    return node;
  }

  #inodeOf(entry: TreeEntry): InodeNumber {
    const key = sameFileKey(entry);
    return key === undefined ? inodeOfName(this.#inode, entry.name) : inodeOfLink(this.#in.rootInode, key);
  }
}

function modeOf({ type, mode }: TreeEntry): number {
  return TYPE_BITS[type] | mode;
}

/**
 * The blocks of 512 bytes that a file takes without its holes. Programs that copy files take 0 to mean that there are no
 * data, without reading them, and the bytes were not compared with the holes yet.
 */
function blocksOf({ sizeBytes, holes }: TreeEntry): number {
  let dataBytes = sizeBytes;
  for (let index = 0; index < holes.length; index += 2) dataBytes -= holes[index + 1]! - holes[index]!;
  return Math.max(Math.ceil(dataBytes / 512), sizeBytes > 0 ? 1 : 0);
}

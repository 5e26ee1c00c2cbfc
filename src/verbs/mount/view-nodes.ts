import { FileNode } from './fuse/file-node.ts';
import type { DirectoryListing } from './fuse/file-node.ts';
import type { FuseAttributes, InodeNumber } from './fuse/attributes.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { ROOT_INODE, inodeOfName } from './inode-numbers.ts';
import type { NamedSnapshot, SnapshotDirectory } from './snapshot-names.ts';

const DIRECTORY_MODE = 0o040_555;
const LINK_MODE = 0o120_777;

/** What the directories above the snapshots share. */
interface ViewSurroundings {
  readonly uid: number;
  readonly gid: number;
  /** When the file system was mounted. */
  readonly mountedSeconds: number;
  /** Returns the names of all snapshots that there are now. */
  readonly names: () => Promise<SnapshotDirectory>;
  /** Makes the node of the root of a snapshot. */
  readonly openSnapshot: (listing: SnapshotListing, onForgotten: () => void) => FileNode;
}

interface KnownChild {
  readonly node: FileNode;
  readonly named: NamedSnapshot;
}

/** A directory whose contents change when snapshots are made or deleted. */
export class ViewDirectory extends FileNode {
  readonly isConstant = false;
  readonly #in: ViewSurroundings;
  readonly #path: readonly ByteString[];
  readonly #inode: InodeNumber;
  readonly #onForgotten: () => void;
  readonly #children = new Map<ByteString, KnownChild>();

  /** `path`: the names of the directories from the mount point to this one. */
  constructor(
    surroundings: ViewSurroundings,
    path: readonly ByteString[] = [],
    inode: InodeNumber = ROOT_INODE,
    onForgotten: () => void = () => undefined,
  ) {
    super();
    this.#in = surroundings;
    this.#path = path;
    this.#inode = inode;
    this.#onForgotten = onForgotten;
  }

  override forgotten(): void {
    this.#onForgotten();
  }

  override attributes(): FuseAttributes {
    return attributesOf(this.#in, { inode: this.#inode, mode: DIRECTORY_MODE });
  }

  override async lookup(name: ByteString): Promise<FileNode | undefined> {
    const named = (await this.#entries()).get(name);
    if (named === undefined) return undefined;
    const known = this.#children.get(name);
    if (known !== undefined && isSame(known.named, named)) return known.node;
    const node = this.#makeNode(name, named);
    this.#children.set(name, { node, named });
    return node;
  }

  /** Nodes are made by lookups, which read the snapshot's tree. */
  override async list(): Promise<DirectoryListing> {
    const entries = [...(await this.#entries())];
    return {
      count: entries.length,
      entryAt: (index) => {
        const [name, { kind }] = entries[index]!;
        return { name, inode: inodeOfName(this.#inode, name), mode: kind === 'link' ? LINK_MODE : DIRECTORY_MODE };
      },
      nodeAt: () => undefined,
    };
  }

  /** None if the last snapshot in this directory was deleted. */
  async #entries(): Promise<ReadonlyMap<ByteString, NamedSnapshot>> {
    let current: NamedSnapshot | undefined = await this.#in.names();
    for (const name of this.#path) current = current?.kind === 'directory' ? current.entries.get(name) : undefined;
    return current?.kind === 'directory' ? current.entries : new Map();
  }

  #makeNode(name: ByteString, named: NamedSnapshot): FileNode {
    const inode = inodeOfName(this.#inode, name);
    const onForgotten = (): void => {
      // Another node may have the name by then.
      if (this.#children.get(name)?.named === named) this.#children.delete(name);
    };
    if (named.kind === 'snapshot') return this.#in.openSnapshot(named.listing, onForgotten);
    if (named.kind === 'link') return new ViewLink(this.#in, { inode, target: named.target, onForgotten });
    return new ViewDirectory(this.#in, [...this.#path, name], inode, onForgotten);
  }
}

/** `latest`. When it has another target, it is another node. */
class ViewLink extends FileNode {
  readonly isConstant = false;
  readonly #in: ViewSurroundings;
  readonly #made: { readonly inode: InodeNumber; readonly target: ByteString; readonly onForgotten: () => void };

  constructor(
    surroundings: ViewSurroundings,
    made: { readonly inode: InodeNumber; readonly target: ByteString; readonly onForgotten: () => void },
  ) {
    super();
    this.#in = surroundings;
    this.#made = made;
  }

  override forgotten(): void {
    this.#made.onForgotten();
  }

  override attributes(): FuseAttributes {
    const { inode, target } = this.#made;
    return { ...attributesOf(this.#in, { inode, mode: LINK_MODE }), sizeBytes: target.length };
  }

  override linkTarget(): ByteString {
    return this.#made.target;
  }
}

function attributesOf(
  { uid, gid, mountedSeconds }: ViewSurroundings,
  own: Pick<FuseAttributes, 'inode' | 'mode'>,
): FuseAttributes {
  return {
    ...own,
    linkCount: 1,
    uid,
    gid,
    sizeBytes: 0,
    blockCount: 0,
    modifiedSeconds: mountedSeconds,
    modifiedNanoseconds: 0,
    changedSeconds: mountedSeconds,
    changedNanoseconds: 0,
    deviceMajor: 0,
    deviceMinor: 0,
  };
}

function isSame(a: NamedSnapshot, b: NamedSnapshot): boolean {
  if (a.kind === 'snapshot') return b.kind === 'snapshot' && a.listing.id === b.listing.id;
  return a.kind === 'link' ? b.kind === 'link' && a.target === b.target : b.kind === 'directory';
}

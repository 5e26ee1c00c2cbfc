import type { DirectoryPath } from '../../files/directory-path.ts';
import type { SourceFile } from '../../files/source-stream.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { TreeEncoder } from '../../format/tree.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { PathNode } from '../../util/path-node.ts';
import type { KnownFile } from './file-store.ts';
import type { ParentTree } from './parent-tree.ts';
import type { FileAhead } from './read-ahead.ts';

/** A directory on a walk, and its entries as far as they are stored. */
export interface WalkedDirectory extends PathNode {
  /** Undefined for the common parent of the roots. */
  readonly parent: WalkedDirectory | undefined;
  readonly name: ByteString;
  readonly metadata: SourceMetadata | undefined;
  /** In use until its last file is stored. */
  readonly location: DirectoryPath;
  readonly previous: TreeEntry | undefined;
  readonly previousTree: ParentTree | undefined;
  readonly tree: TreeEncoder;
}

/** A file to be stored. Its path is the one for the system. */
export interface FileStep extends SourceFile {
  readonly kind: 'file';
  readonly directory: WalkedDirectory;
  readonly name: ByteString;
  readonly previous: TreeEntry | undefined;
  /** The content, if it need not be read. */
  readonly known: KnownFile | undefined;
  /** Set if it is being read already. */
  readonly ahead: FileAhead | undefined;
}

/** Anything that is neither a file nor a directory; the entry says all about it. */
export interface EntryStep {
  readonly kind: 'entry';
  readonly directory: WalkedDirectory;
  readonly entry: TreeEntry;
}

/** The end of a directory. */
export interface LeaveStep {
  readonly kind: 'leave';
  readonly directory: WalkedDirectory;
}

/** What a walk over the sources finds, in the order in which it is stored. */
export type WalkStep = FileStep | EntryStep | LeaveStep;

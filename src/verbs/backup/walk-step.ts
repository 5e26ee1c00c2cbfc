import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { SourceFile } from '../../core/files/source/source-stream.ts';
import type { TreeEntry, TreeEncoder } from '../../core/format/tree/tree.ts';
import type { SourceMetadata } from '../../core/files/source/status-fields.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { KnownFile } from './file-store.ts';
import type { ParentTree } from '../../core/sources/parent-tree.ts';
import type { FileAhead } from './read-ahead.ts';
import type { SourceAttributes } from '../../core/files/source/source-attributes.ts';

/** A directory on a walk, and the tree of its entries stored so far. */
export interface WalkedDirectory extends PathNode {
  /** Undefined for the common parent of the roots. */
  readonly parent: WalkedDirectory | undefined;
  readonly name: ByteString;
  readonly metadata: SourceMetadata | undefined;
  /** Undefined if they are those of `previous`, and for the common parent of the roots. */
  readonly attributes: SourceAttributes | undefined;
  /** Stays open until the last file of the directory is stored. */
  readonly location: DirectoryPath;
  readonly previous: TreeEntry | undefined;
  readonly previousTree: ParentTree | undefined;
  /** What an interrupted backup had stored of the directory. */
  readonly leftoverTree: ParentTree | undefined;
  readonly tree: TreeEncoder;
}

/** A file to be stored. Its path is the one to open it by. */
export interface FileStep extends SourceFile {
  readonly kind: 'file';
  readonly directory: WalkedDirectory;
  readonly name: ByteString;
  readonly previous: TreeEntry | undefined;
  /** The content, if the file does not need to be read. */
  readonly known: KnownFile | undefined;
  /** The attributes, if the file does not need to be read, and if they are not those of `previous`. */
  readonly attributes: SourceAttributes | undefined;
  /** Set if the file is already being read. */
  readonly ahead: FileAhead | undefined;
}

/** A source that is neither a file nor a directory. The entry describes it completely. */
export interface EntryStep {
  readonly kind: 'entry';
  readonly directory: WalkedDirectory;
  readonly entry: TreeEntry;
  readonly previous: TreeEntry | undefined;
}

/** The end of a directory: its tree can be stored. */
interface LeaveStep {
  readonly kind: 'leave';
  readonly directory: WalkedDirectory;
}

/** The steps of a walk, in the order in which they must be stored. */
export type WalkStep = FileStep | EntryStep | LeaveStep;

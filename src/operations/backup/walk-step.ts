import type { DirectoryPath } from '../../files/directory-path.ts';
import type { SourceFile } from '../../files/source-stream.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { KnownFile } from './file-store.ts';
import type { ParentTree } from './parent-tree.ts';
import type { FileAhead } from './read-ahead.ts';

/** A directory on a walk, and its entries as far as they are stored. */
export interface WalkedDirectory {
  /** Undefined for the common parent of the roots. */
  readonly parent: WalkedDirectory | undefined;
  readonly name: ByteString;
  /** Relative to the common parent of the roots. */
  readonly path: ByteString;
  readonly metadata: SourceMetadata | undefined;
  /** Open until its last file is stored. */
  readonly location: DirectoryPath;
  readonly previous: TreeEntry | undefined;
  readonly previousTree: ParentTree | undefined;
  readonly entries: TreeEntry[];
}

/** A file to be stored; its path is the one that the system is given. */
export interface FileStep extends SourceFile {
  readonly kind: 'file';
  readonly directory: WalkedDirectory;
  readonly name: ByteString;
  readonly previous: TreeEntry | undefined;
  /** Where the content need not be read. */
  readonly known: KnownFile | undefined;
  /** Where it is being read. */
  readonly ahead: FileAhead | undefined;
}

/** Anything else but a directory: all there is to know of it is in the entry. */
export interface EntryStep {
  readonly kind: 'entry';
  readonly directory: WalkedDirectory;
  readonly entry: TreeEntry;
}

/** Everything in a directory has been passed. */
export interface LeaveStep {
  readonly kind: 'leave';
  readonly directory: WalkedDirectory;
}

/** What a walk over the sources comes by, in the order in which it is stored. */
export type WalkStep = FileStep | EntryStep | LeaveStep;

import type { FilePlace } from '../../core/files/target/target-names.ts';
import type { EntryMetadata } from '../../core/files/target/target-metadata.ts';
import type { EntryAttributes } from '../../core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { PlannedPatch } from './in-place.ts';
import type { TalliedStep } from './restore-tally.ts';
import type { TargetDirectory } from './target-directories.ts';

/**
 * A file to be written: what is needed of its step and its entry, which take three times the memory. Its path is
 * computed at each use, since its directory may be closed and opened in between.
 */
export class PlannedFile implements FilePlace, EntryMetadata, TalliedStep {
  readonly kind = 'entry';
  readonly type = 'file';
  readonly name: ByteString;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly user: ByteString;
  readonly group: ByteString;
  readonly mtimeSeconds: number;
  readonly mtimeNanoseconds: number;
  readonly sizeBytes: number;
  readonly xattrs: EntryAttributes['xattrs'];
  readonly holes: Float64Array;
  readonly inodeFlags: number;
  readonly extensions: TreeEntry['extensions'];
  readonly inheritsAcl: boolean;
  readonly changedWhileRead: boolean;
  /** The whole entry of a file with several names. */
  readonly linked: TreeEntry | undefined;
  readonly parent: PathNode | undefined;
  readonly directory: TargetDirectory;
  readonly replaces: boolean;
  chunkCount = 0;
  /** Chunks that are not written yet. */
  remainingCount = 0;
  /** Whether writing it has failed, so that its other chunks are not needed. */
  hasFailed = false;
  /** If given, only some chunks are written, into the existing file. */
  patch: PlannedPatch | undefined;

  constructor(step: TreeStep, directory: TargetDirectory, { replaces }: { readonly replaces: boolean }) {
    const { entry } = step;
    this.name = entry.name;
    this.mode = entry.mode;
    this.uid = entry.uid;
    this.gid = entry.gid;
    this.user = entry.user;
    this.group = entry.group;
    this.mtimeSeconds = entry.mtimeSeconds;
    this.mtimeNanoseconds = entry.mtimeNanoseconds;
    this.sizeBytes = entry.sizeBytes;
    this.xattrs = entry.xattrs;
    this.holes = entry.holes;
    this.inodeFlags = entry.inodeFlags;
    this.extensions = entry.extensions;
    this.inheritsAcl = directory.inheritsAcl;
    this.changedWhileRead = entry.changedWhileRead;
    this.linked = entry.hardlink === undefined ? undefined : entry;
    this.parent = step.parent;
    this.directory = directory;
    this.replaces = replaces;
  }

  get entry(): this {
    return this;
  }

  /** The bytes that the existing file has already. */
  get keptBytes(): number {
    return this.patch?.keptBytes ?? 0;
  }

  get path(): ByteString {
    return this.directory.location.childPath(this.name);
  }
}

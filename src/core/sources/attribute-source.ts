import { closeSync } from 'node:fs';
import { SourceError } from '../errors.ts';
import {
  NO_SOURCE_ATTRIBUTES,
  canReadAttributes,
  readAttributesAt,
  readAttributesOf,
  readDirectoryAttributes,
} from '../files/source/source-attributes.ts';
import type { SourceAttributes } from '../files/source/source-attributes.ts';
import { openSource } from '../files/source/source-files.ts';
import { readMetadataOf } from '../files/source/source-metadata.ts';
import type { SourceMetadata } from '../files/source/status-fields.ts';
import { isUnchanged } from '../files/source/source-stream.ts';
import type { RecordedAttributes } from '../format/snapshot.ts';
import { NO_HOLES } from '../format/tree/tree-entry.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { ByteString } from '../util/byte-string.ts';
import type { PathNode } from '../util/path-node.ts';
import { hasSameTimes, isSettled } from './entry-builder.ts';
import type { KeptAttributes } from './entry-builder.ts';
import type { ParentSnapshot } from './parent-snapshot.ts';
import type { ProblemReport } from './problem-report.ts';

/** Problems with attributes are listed up to this number, and counted beyond it. */
const LISTED_MAX = 20;

/** Reads the attributes of the sources, unless the parent snapshot has them and they cannot have changed since. */
export class AttributeSource {
  /** Entries of which some attributes could not be read. */
  incompleteCount = 0;
  readonly #problems: ProblemReport;
  readonly #parentStartMs: number | undefined;
  readonly #seesAll: boolean;
  /**
   * Whether a file with the content of its entry in the parent snapshot has its attributes too, because the same times
   * decide about both. Comparing them once more for each file took 3 % of a backup of unchanged files.
   */
  readonly isKnownWithContent: boolean;

  /**
   * `seesAll`: see `RecordedAttributes`. `parent`: undefined to read all attributes. `ignoresCtime`: whether the ctime
   * says nothing about the content of files.
   */
  constructor(
    problems: ProblemReport,
    { seesAll, ignoresCtime }: { readonly seesAll: boolean; readonly ignoresCtime: boolean },
    parent: Pick<ParentSnapshot, 'attributes' | 'startMs'> | undefined,
  ) {
    this.#problems = problems;
    this.#seesAll = seesAll;
    const isComplete = parent?.attributes === 'all' || (parent?.attributes === 'visible' && !seesAll);
    this.#parentStartMs = isComplete ? parent?.startMs : undefined;
    this.isKnownWithContent = isComplete && !ignoresCtime;
  }

  /** What the snapshot records; undefined if the next backup must read the attributes of all entries again. */
  get recorded(): RecordedAttributes | undefined {
    if (this.incompleteCount > 0 || !canReadAttributes()) return undefined;
    return this.#seesAll ? 'all' : 'visible';
  }

  /**
   * Returns whether an entry of the parent snapshot has the attributes of a source. The system sets the ctime when an
   * attribute changes, so this holds even where the ctime says nothing about the content.
   */
  isKnown(previous: TreeEntry | undefined, metadata: SourceMetadata): previous is TreeEntry {
    return (
      this.#parentStartMs !== undefined &&
      previous?.type === metadata.type &&
      previous.inode === metadata.inode &&
      hasSameTimes(previous, metadata) &&
      isSettled(metadata, this.#parentStartMs)
    );
  }

  /** Returns the attributes of a directory; undefined if they are known. Throws SourceError. */
  ofDirectory(
    place: PathNode,
    seen: { readonly metadata: SourceMetadata; readonly previous: TreeEntry | undefined },
    location: { readonly path: ByteString; readonly follows: boolean },
  ): SourceAttributes | undefined {
    const { metadata, previous } = seen;
    if (this.isKnown(previous, metadata)) return undefined;
    return this.note(place, readDirectoryAttributes(location.path, metadata.device, location));
  }

  /** Returns the attributes of anything but a file or directory. Throws SourceError. */
  ofOther(
    place: PathNode,
    seen: { readonly metadata: SourceMetadata; readonly previous: TreeEntry | undefined },
    path: ByteString,
  ): KeptAttributes {
    const { metadata, previous } = seen;
    if (this.isKnown(previous, metadata)) return previous;
    return this.note(place, readAttributesAt(path, metadata.device));
  }

  /** Returns the attributes of a file whose content is not read; undefined if they are known. */
  ofUnreadFile(
    place: PathNode,
    seen: { readonly metadata: SourceMetadata; readonly previous: TreeEntry | undefined },
    path: ByteString,
  ): SourceAttributes | undefined {
    const { metadata, previous } = seen;
    if (this.isKnown(previous, metadata)) return undefined;
    return this.note(place, readUnreadFile(path, metadata));
  }

  /** Reports what could not be read, and returns the attributes. */
  note(place: PathNode, attributes: SourceAttributes): SourceAttributes {
    const { unread } = attributes;
    if (unread.length === 0) return attributes;
    this.incompleteCount += 1;
    if (this.incompleteCount <= LISTED_MAX)
      this.#problems.report(place, 'attributes', `saved without ${unread.join(', ')}`);
    return attributes;
  }
}

/**
 * Returns the attributes of a file whose content is not read. It may belong to another user, who can read it but did not
 * let us; then only its extended attributes are read. Throws SourceError.
 */
export function readUnreadFile(path: ByteString, metadata: SourceMetadata): SourceAttributes {
  if (!canReadAttributes()) return NO_SOURCE_ATTRIBUTES;
  let descriptor: number;
  try {
    descriptor = openSource(path, metadata.uid);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return {
      ...readAttributesAt(path, metadata.device),
      unread: [`attributes (${error.errno ?? 'cannot be opened'})`],
    };
  }
  try {
    const found = readMetadataOf(descriptor, path);
    const isSame = found.inode === metadata.inode && found.device === metadata.device;
    if (!isSame) return { ...NO_SOURCE_ATTRIBUTES, unread: ['attributes (replaced)'] };
    const attributes = readAttributesOf(descriptor, metadata);
    // The holes of another content than the one that is kept are of no use.
    const hasOtherHoles = attributes.holes.length > 0 && !isUnchanged(metadata, readMetadataOf(descriptor, path));
    return hasOtherHoles ? { ...attributes, holes: NO_HOLES } : attributes;
  } finally {
    closeSync(descriptor);
  }
}

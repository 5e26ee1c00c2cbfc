import { SourceError } from '../../core/errors.ts';
import type { OwnerNames } from '../../core/files/native/owner-names.ts';
import {
  NO_SOURCE_ATTRIBUTES,
  readAttributesAt,
  readDirectoryAttributes,
} from '../../core/files/source/source-attributes.ts';
import type { SourceAttributes } from '../../core/files/source/source-attributes.ts';
import { listNames } from '../../core/files/source/source-files.ts';
import { readMetadata, readMetadataFollowing } from '../../core/files/source/source-metadata.ts';
import type { SourceMetadata } from '../../core/files/source/status-fields.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { readUnreadFile } from '../../core/sources/attribute-source.ts';
import { buildEntry, buildOtherEntry } from '../../core/sources/entry-builder.ts';
import { UNKNOWN_ENTRY, isElsewhere } from '../../core/sources/exclusion.ts';
import type { DirectoryRules, Exclusion } from '../../core/sources/exclusion.ts';
import type { EnteredDirectory } from '../../core/sources/ignore-files.ts';
import type { PlannedName } from '../../core/sources/source-plan.ts';
import type { SideDirectory, SideEntries, SideEntry } from './side.ts';

/** What reading the file system needs. */
export interface LiveServices {
  readonly owners: OwnerNames;
  /** Its paths start at the directory that is compared. */
  readonly exclusion: Exclusion;
  /** The repository, which is not compared. */
  readonly repositoryPaths: ReadonlySet<ByteString>;
  /** Sources that are symlinks, with what they lead to, which was backed up in their place. */
  readonly followed: ReadonlyMap<ByteString, ByteString>;
  /** Takes the entries of which some attributes cannot be read. Undefined: attributes are not compared. */
  readonly incompleteAttributes: WeakSet<TreeEntry> | undefined;
  /** Called for what cannot be read, and is therefore not compared. */
  readonly onProblem: (path: ByteString, during: 'list' | 'stat' | 'attributes', message: string) => void;
}

/** A directory of the file system during a comparison. */
export interface LivePlace {
  /** Where it is. */
  readonly path: ByteString;
  /** Undefined for the directory that is compared. */
  readonly node: PathNode | undefined;
  readonly device: bigint;
  /** The rules for the directory itself. */
  readonly outer: DirectoryRules | undefined;
  /** Whether a backup would begin to exclude here. */
  readonly isRoot: boolean;
  /** Names here that are on the path to what was backed up. */
  readonly planned: ReadonlyMap<ByteString, PlannedName> | undefined;
  /** Whether nothing but `planned` is compared. */
  readonly isPartial: boolean;
}

/** A directory of the file system, without what a backup with the same options would leave out. */
export class LiveDirectory implements SideDirectory {
  readonly treeId: undefined = undefined;
  readonly #place: LivePlace;
  readonly #services: LiveServices;

  constructor(place: LivePlace, services: LiveServices) {
    this.#place = place;
    this.#services = services;
  }

  /** @throws SourceError */
  open(): Promise<SideEntries> {
    const { path, isPartial, planned } = this.#place;
    const names = listNames(path).filter((name) => !isPartial || planned?.has(name) === true);
    const rules = isPartial ? undefined : rulesIn(this.#place, names, this.#services.exclusion);
    let index = 0;
    const next = (): SideEntry | undefined => {
      while (index < names.length) {
        const entry = this.#examine(names[index++]!, rules);
        if (entry !== undefined) return entry;
      }
      return undefined;
    };
    return Promise.resolve({ next });
  }

  /** Returns undefined for an entry that has just been removed, and one without data for what is not compared. */
  #examine(name: ByteString, rules: DirectoryRules | undefined): SideEntry | undefined {
    const { exclusion, followed, repositoryPaths, onProblem } = this.#services;
    const { path: parentPath, node: parent, isPartial } = this.#place;
    const hidden: SideEntry = { name, entry: undefined, directory: undefined };
    const planned = this.#place.planned?.get(name);
    const mayExclude = !isPartial && planned?.isRoot !== true;
    let isUnwanted = mayExclude && exclusion.excludesName(rules, { parent, name }) !== undefined;
    const named = joinPath(parentPath, name);
    if ((isUnwanted && planned === undefined) || repositoryPaths.has(named)) return hidden;
    const path = followed.get(named) ?? named;
    try {
      // Symlinks above a root were followed.
      const isAbove = isPartial && planned?.isRoot === false;
      const metadata = isAbove ? readMetadataFollowing(path) : readMetadata(path);
      isUnwanted ||= mayExclude && exclusion.excludes(rules, name, metadata, path) !== undefined;
      isUnwanted ||= planned?.isRoot !== true && isElsewhere(rules, metadata.device);
      if (isUnwanted && !(planned !== undefined && metadata.type === 'directory')) return hidden;
      const entry = this.#entry({ name, path, metadata, follows: isAbove });
      if (metadata.type !== 'directory') return { name, entry, directory: undefined };
      const place = {
        path,
        node: { parent, name },
        device: metadata.device,
        outer: rules,
        isRoot: planned?.isRoot === true,
        planned: planned?.children,
        isPartial: isAbove || isUnwanted,
      };
      return { name, entry, directory: new LiveDirectory(place, this.#services) };
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (error.errno === 'ENOENT') return undefined;
      // What is to be ignored may be unreadable.
      const isIgnored = mayExclude && exclusion.excludes(rules, name, UNKNOWN_ENTRY, undefined) !== undefined;
      if (!isIgnored) onProblem(named, 'stat', error.message);
      return hidden;
    }
  }

  #entry(seen: SeenEntry): TreeEntry {
    const { owners, incompleteAttributes, onProblem } = this.#services;
    const { name, path, metadata } = seen;
    const attributes = incompleteAttributes === undefined ? NO_SOURCE_ATTRIBUTES : readAttributes(seen);
    const { type, sizeBytes } = metadata;
    const entry =
      type === 'file' || type === 'directory'
        ? buildEntry(name, metadata, owners, type === 'file' ? { sizeBytes } : {}, attributes)
        : buildOtherEntry(name, path, metadata, owners, attributes);
    if (attributes.unread.length > 0) {
      incompleteAttributes?.add(entry);
      onProblem(path, 'attributes', `its attributes are not compared; cannot read ${attributes.unread.join(', ')}`);
    }
    return entry;
  }
}

interface SeenEntry {
  readonly name: ByteString;
  readonly path: ByteString;
  readonly metadata: SourceMetadata;
  readonly follows: boolean;
}

function readAttributes({ path, metadata, follows }: SeenEntry): SourceAttributes {
  if (metadata.type === 'file') return readUnreadFile(path, metadata);
  if (metadata.type === 'directory') return readDirectoryAttributes(path, metadata.device, { follows });
  return readAttributesAt(path, metadata.device);
}

/** Returns the last name of a path. */
export function nameOf(path: ByteString): ByteString {
  return path.slice(path.lastIndexOf('/') + 1) as ByteString;
}

/** Returns the rules for the entries of a directory. `names`: those in it. */
export function rulesIn(
  { path, node, device, outer, isRoot }: Pick<LivePlace, 'path' | 'node' | 'device' | 'outer' | 'isRoot'>,
  names: EnteredDirectory['names'],
  exclusion: Exclusion,
): DirectoryRules | undefined {
  const root = isRoot ? path : undefined;
  const name = node?.name ?? nameOf(path);
  return exclusion.enter(isRoot ? undefined : outer, { name, prefix: path, names, root, device });
}

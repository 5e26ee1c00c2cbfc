import { SourceError } from '../../core/errors.ts';
import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { packNames } from '../../core/files/source/name-list.ts';
import type { Names } from '../../core/files/source/name-list.ts';
import { listManyNames, listNames } from '../../core/files/source/source-files.ts';
import { readMetadata, readMetadataFollowing } from '../../core/files/source/source-metadata.ts';
import type { SourceMetadata } from '../../core/files/source/status-fields.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { type ByteString, joinPath } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { buildOtherEntry, isSameOther } from '../../core/sources/entry-builder.ts';
import { UNKNOWN_ENTRY, isElsewhere } from '../../core/sources/exclusion.ts';
import type { DirectoryRules, ExclusionReason } from '../../core/sources/exclusion.ts';
import type { EnteredDirectory } from '../../core/sources/ignore-files.ts';
import type { ParentSnapshot } from '../../core/sources/parent-snapshot.ts';
import type { PlannedName, SourcePlan } from '../../core/sources/source-plan.ts';
import type { EntryStep, FileStep, WalkStep, WalkedDirectory } from './walk-step.ts';
import type { WalkServices } from './walk-services.ts';

const OWN_PART = 'is a part of the repository of this backup, or of a copy of it; it is left out';
/** A directory for which the system reports this size may have thousands of names. */
const LARGE_DIRECTORY_BYTES = 64 * 1024;

/** A directory during the walk. */
interface OpenDirectory {
  readonly directory: WalkedDirectory;
  readonly names: Names;
  /** Names here that are on the path to what the user named. */
  readonly planned: ReadonlyMap<ByteString, PlannedName> | undefined;
  /** Whether nothing but `planned` is saved. */
  readonly isPartial: boolean;
  /** What is excluded here, besides patterns. */
  readonly rules: DirectoryRules | undefined;
  position: number;
}

/** Walks the sources depth first with an explicit stack, and returns the steps that store them. */
export class SourceWalk {
  readonly #plan: SourcePlan;
  readonly #services: WalkServices;
  readonly #stack: OpenDirectory[] = [];

  constructor(plan: SourcePlan, services: WalkServices) {
    this.#plan = plan;
    this.#services = services;
  }

  /** `parent`: what to compare the sources with. */
  async begin(parent: ParentSnapshot | undefined): Promise<void> {
    const { base, names: planned, isBaseRoot } = this.#plan;
    const top = { parent: undefined, name: '' as ByteString };
    const previousTree = await this.#services.parentTrees.read(parent?.tree);
    const location = openDirectoryPath(base, { side: 'source' });
    const names = isBaseRoot ? await this.#listNames(location, top) : [...planned.keys()];
    const tree = this.#services.trees.begin(previousTree, names.length);
    const { leftoverTree } = this.#services.continuation;
    const known = { metadata: undefined, attributes: undefined, previous: undefined };
    const directory = { ...top, ...known, location, previousTree, leftoverTree, tree };
    const seen = { ...directory, metadata: isBaseRoot ? readMetadataFollowing(base) : undefined };
    const rules = isBaseRoot ? this.#rulesIn(undefined, seen, { names, root: base }) : undefined;
    this.#push(directory, { names, planned, isPartial: !isBaseRoot, rules });
  }

  /**
   * Visits the next name. Returns undefined if there is nothing to store for it. Returns a promise only if it has to
   * wait, which is rare.
   */
  next(): Promise<undefined> | WalkStep | undefined {
    const open = this.#stack.at(-1)!;
    const name = open.names.at(open.position);
    open.position += 1;
    if (name !== undefined) return this.#visit(open, name);
    this.#stack.pop();
    return { kind: 'leave', directory: open.directory };
  }

  get isDone(): boolean {
    return this.#stack.length === 0;
  }

  /** Closes most open directories above the current one until the walk returns to them. No step may be waiting. */
  restOuter(): void {
    this.#stack.at(-1)?.directory.location.restOuter();
  }

  /** Closes all directories that the walk still has open. */
  close(): void {
    for (const { directory } of this.#stack) directory.location.close();
  }

  #push(directory: WalkedDirectory, rest: Omit<OpenDirectory, 'directory' | 'position'>): void {
    this.#stack.push({ directory, ...rest, position: 0 });
  }

  #visit(open: OpenDirectory, name: ByteString): Promise<undefined> | WalkStep | undefined {
    const { directory } = open;
    const place = { parent: directory, name };
    const planned = open.planned?.get(name);
    const { exclusion, recorded } = this.#services;
    const mayExclude = !open.isPartial && planned?.isRoot !== true;
    let unwanted = mayExclude ? exclusion.excludesName(open.rules, place) : undefined;
    if (unwanted !== undefined && planned === undefined) return this.#leaveOut(place, unwanted);
    try {
      const root = planned?.isRoot === true ? joinPath(this.#plan.base, pathOf(place)) : undefined;
      const followed = root === undefined ? undefined : this.#plan.followed.get(root);
      if (root !== undefined && this.#services.ownRepository.hasPart(followed ?? root)) {
        this.#services.problems.report(place, 'list', OWN_PART);
        return undefined;
      }
      const location = followed ?? directory.location.childPath(name);
      // Symlinks above a root are followed.
      const isAbove = open.isPartial && planned?.isRoot === false;
      const metadata = isAbove ? readMetadataFollowing(location, recorded) : readMetadata(location, recorded);
      const isDirectory = metadata.type === 'directory';
      if (mayExclude) unwanted ??= exclusion.excludes(open.rules, name, metadata, location);
      if (unwanted !== undefined && !(isDirectory && planned !== undefined)) return this.#leaveOut(place, unwanted);
      const previous = directory.previousTree?.entries.find(name);
      if (isDirectory) {
        // Of an excluded directory, what the user named in it is saved.
        const isPartial = isAbove || unwanted !== undefined;
        const found = { metadata, previous, root, followed, planned, isPartial, follows: isAbove };
        return this.#enter({ parent: directory, name, ...found }, open.rules);
      }
      if (metadata.type === 'file') return this.#file({ directory, name, path: location, metadata, previous });
      return this.#other({ directory, name, path: location, metadata, previous });
    } catch (error) {
      // What is to be ignored may be unreadable.
      const isIgnored = mayExclude && exclusion.excludes(open.rules, name, UNKNOWN_ENTRY, undefined) !== undefined;
      if (isIgnored && error instanceof SourceError) return this.#leaveOut(place, 'ignore-file');
      this.#services.problems.skip(place, 'stat', error, { mustExist: planned !== undefined });
      return undefined;
    }
  }

  #leaveOut(place: PathNode, reason: ExclusionReason): undefined {
    this.#services.listing?.addExcluded(place, reason);
    return undefined;
  }

  /** Returns whether the directory is the repository of this backup. Reported only if the user named it as a source. */
  #skipsRepository(
    seen: SeenDirectory,
    { prefix }: DirectoryPath,
    { names, planned }: { readonly names: Names; readonly planned: PlannedName | undefined },
  ): boolean {
    if (!this.#services.ownRepository.skips({ place: seen, metadata: seen.metadata, prefix }, names)) return false;
    if (planned?.isRoot === true) {
      this.#services.problems.report(seen, 'list', 'left out: it is the repository of this backup, or a copy of it');
    }
    return true;
  }

  /** `outer`: the rules for the directory itself. */
  async #enter(seen: SeenDirectory, outer: DirectoryRules | undefined): Promise<undefined> {
    const { parent, name, metadata, previous, root, followed, planned, follows } = seen;
    const previousTree = await this.#services.parentTrees.read(previous?.treeId);
    const location = this.#open(seen);
    if (location === undefined) return;
    // A mount point is saved as an empty directory, except for what the user named in it.
    const isPartial = seen.isPartial || (root === undefined && isElsewhere(outer, metadata.device));
    const names = isPartial
      ? [...(planned?.children.keys() ?? [])].toSorted()
      : await this.#listNames(location, seen, metadata.sizeBytes);
    if (this.#skipsRepository(seen, location, { names, planned })) {
      location.close();
      return;
    }
    const leftoverTree = await this.#services.continuation.enter(parent, name);
    const tree = this.#services.trees.begin(previousTree, names.length);
    const attributes = this.#services.attributes.ofDirectory(seen, seen, { path: location.prefix, follows });
    const directory = { parent, name, metadata, attributes, location, previous, previousTree, leftoverTree, tree };
    const rules = isPartial ? undefined : this.#rulesIn(outer, directory, { names, root: followed ?? root });
    this.#push(directory, { names, planned: planned?.children, isPartial, rules });
  }

  /** `outer`: the rules for the directory itself. `root`: the real path of a root. */
  #rulesIn(
    outer: DirectoryRules | undefined,
    { name, metadata, location }: Pick<WalkedDirectory, 'name' | 'metadata' | 'location'>,
    { names, root }: Pick<EnteredDirectory, 'names' | 'root'>,
  ): DirectoryRules | undefined {
    // The rules for a source do not depend on other sources that contain it.
    const inherited = root === undefined ? outer : undefined;
    const { prefix } = location;
    return this.#services.exclusion.enter(inherited, { name, prefix, names, root, device: metadata?.device });
  }

  #open(seen: SeenDirectory): DirectoryPath | undefined {
    try {
      if (seen.followed !== undefined) return openDirectoryPath(seen.followed, { side: 'source' });
      return seen.parent.location.enter(seen.name);
    } catch (error) {
      this.#services.problems.skip(seen, 'list', error);
      return undefined;
    }
  }

  /** Lists the names in a directory. A directory that cannot be listed is reported and saved as empty. */
  async #listNames({ prefix }: DirectoryPath, place: PathNode, sizeBytes = 0): Promise<Names> {
    try {
      const isLarge = sizeBytes >= LARGE_DIRECTORY_BYTES;
      return packNames(isLarge ? await listManyNames(prefix, () => this.#services.pacer.pause()) : listNames(prefix));
    } catch (error) {
      this.#services.problems.skip(place, 'list', error);
      return [];
    }
  }

  /** A symlink or special file. What it is never changes while its inode and ctime stay, so it need not be read again. */
  #other({ directory, name, path, metadata, previous }: SeenFile): EntryStep {
    const { attributes: source, owners } = this.#services;
    if (source.isKnown(previous, metadata) && isSameOther(previous, metadata, owners))
      return { kind: 'entry', directory, entry: previous, previous };
    const attributes = source.ofOther({ parent: directory, name }, { metadata, previous }, path);
    return { kind: 'entry', directory, entry: buildOtherEntry(name, path, metadata, owners, attributes), previous };
  }

  #file(seen: SeenFile): FileStep {
    const { files, ahead, continuation, attributes: source } = this.#services;
    const known = files.reuse(seen.metadata, seen.previous) ?? continuation.reuse(seen, files);
    if (known !== undefined) {
      const isKnown = known === seen.previous && source.isKnownWithContent;
      const place = { parent: seen.directory, name: seen.name };
      const attributes = isKnown ? undefined : source.ofUnreadFile(place, seen, seen.path);
      return { kind: 'file', ...seen, known, attributes, ahead: undefined };
    }
    const isWanted = seen.metadata.linkCount === 1;
    return { kind: 'file', ...seen, known, attributes: undefined, ahead: isWanted ? ahead.offer(seen) : undefined };
  }
}

/** Anything but a directory. */
type SeenFile = Pick<FileStep, 'directory' | 'name' | 'path' | 'metadata' | 'previous'>;

interface SeenDirectory extends PathNode {
  readonly parent: WalkedDirectory;
  readonly metadata: SourceMetadata;
  readonly previous: TreeEntry | undefined;
  /** Its path, if it is a root. */
  readonly root: ByteString | undefined;
  /** The target of a root that is a symlink. */
  readonly followed: ByteString | undefined;
  readonly planned: PlannedName | undefined;
  /** Whether it may be a symlink, since it is above the roots. */
  readonly follows: boolean;
  /** Whether only what the user named in it is saved. */
  readonly isPartial: boolean;
}

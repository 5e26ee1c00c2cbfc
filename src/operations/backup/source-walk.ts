import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { packNames } from '../../files/name-list.ts';
import type { Names } from '../../files/name-list.ts';
import { listManyNames, listNames } from '../../files/source-files.ts';
import { readMetadata, readMetadataFollowing } from '../../files/source-metadata.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';
import { pathOf } from '../../util/path-node.ts';
import type { PathNode } from '../../util/path-node.ts';
import { buildOtherEntry } from './entry-builder.ts';
import type { ParentSnapshot } from './parent-snapshot.ts';
import type { PlannedName, SourcePlan } from './source-plan.ts';
import type { WalkServices, FileStep, WalkStep, WalkedDirectory } from './walk-step.ts';

const OWN_PART = 'is a part of the repository of this backup, or of a copy of it; it is left out';
/** A directory for which the system reports this size may have thousands of names. */
const LARGE_DIRECTORY_BYTES = 64 * 1024;

/** A directory during the walk. */
interface OpenDirectory {
  readonly directory: WalkedDirectory;
  readonly names: Names;
  /** Set if only some of the names are saved. */
  readonly planned: ReadonlyMap<ByteString, PlannedName> | undefined;
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
    const { base, names } = this.#plan;
    const top = { parent: undefined, name: '' as ByteString };
    const previousTree = await this.#services.parentTrees.read(parent?.tree);
    const location = openDirectoryPath(base, { side: 'source' });
    const listed = names === undefined ? await this.#listNames(location, top) : [...names.keys()];
    const tree = this.#services.trees.begin(previousTree, listed.length);
    const directory = { ...top, metadata: undefined, location, previous: undefined, previousTree, tree };
    this.#push(directory, { names: listed, planned: names });
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
    const { exclusion, owners, listing } = this.#services;
    if (planned === undefined && exclusion.isExcluded(place)) {
      listing?.add(place, 'excluded', undefined);
      return undefined;
    }
    try {
      const root = planned?.isRoot === true ? joinPath(this.#plan.base, pathOf(place)) : undefined;
      const followed = root === undefined ? undefined : this.#plan.followed.get(root);
      if (root !== undefined && this.#services.ownRepository.hasPart(followed ?? root)) {
        this.#services.problems.report(place, 'list', OWN_PART);
        return undefined;
      }
      const location = followed ?? directory.location.childPath(name);
      const metadata = planned === undefined ? readMetadata(location) : readMetadataOfPlanned(location, planned);
      const previous = directory.previousTree?.entries.find(name);
      if (metadata.type === 'directory') return this.#enter({ ...place, metadata, previous }, planned, followed);
      if (metadata.type === 'file') return this.#file({ directory, name, path: location, metadata, previous });
      return { kind: 'entry', directory, entry: buildOtherEntry(name, location, metadata, owners), previous };
    } catch (error) {
      this.#services.problems.skip(place, 'stat', error, { mustExist: planned !== undefined });
      return undefined;
    }
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

  async #enter(
    seen: SeenDirectory,
    planned: PlannedName | undefined,
    followed: ByteString | undefined,
  ): Promise<undefined> {
    const { parent, name, metadata, previous } = seen;
    const some = planned?.isRoot === false ? planned.children : undefined;
    const previousTree = await this.#services.parentTrees.read(previous?.treeId);
    const location = this.#open(seen, followed);
    if (location === undefined) return;
    const names =
      some === undefined ? await this.#listNames(location, seen, metadata.sizeBytes) : [...some.keys()].toSorted();
    if (this.#skipsRepository(seen, location, { names, planned })) {
      location.close();
      return;
    }
    const tree = this.#services.trees.begin(previousTree, names.length);
    const directory = { parent, name, metadata, location, previous, previousTree, tree };
    this.#push(directory, { names, planned: some });
  }

  #open(seen: SeenDirectory, followed: ByteString | undefined): DirectoryPath | undefined {
    try {
      if (followed !== undefined) return openDirectoryPath(followed, { side: 'source' });
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

  #file(seen: Pick<FileStep, 'directory' | 'name' | 'path' | 'metadata' | 'previous'>): FileStep {
    const { files, ahead } = this.#services;
    const known = files.reuse(seen.metadata, seen.previous);
    const isWanted = known === undefined && seen.metadata.linkCount === 1;
    return { kind: 'file', ...seen, known, ahead: isWanted ? ahead.offer(seen) : undefined };
  }
}

interface SeenDirectory extends PathNode {
  readonly parent: WalkedDirectory;
  readonly metadata: SourceMetadata;
  readonly previous: TreeEntry | undefined;
}

/** Symlinks above a root are followed. */
function readMetadataOfPlanned(location: ByteString, planned: PlannedName): SourceMetadata {
  return planned.isRoot ? readMetadata(location) : readMetadataFollowing(location);
}

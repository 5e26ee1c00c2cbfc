import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { listNames } from '../../files/source-files.ts';
import { readMetadata, readMetadataFollowing } from '../../files/source-metadata.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';
import { buildOtherEntry } from './entry-builder.ts';
import type { ParentSnapshot } from './parent-snapshot.ts';
import type { PlannedName, SourcePlan } from './source-plan.ts';
import type { WalkServices } from './walk-services.ts';
import type { FileStep, WalkStep, WalkedDirectory } from './walk-step.ts';

/** A directory whose names are being passed. */
interface OpenDirectory {
  readonly directory: WalkedDirectory;
  readonly names: readonly ByteString[];
  /** Where only some of the names are saved. */
  readonly planned: ReadonlyMap<ByteString, PlannedName> | undefined;
  position: number;
}

/** Walks the sources, depth first with a stack of its own, and tells what there is to store. */
export class SourceWalk {
  readonly #plan: SourcePlan;
  readonly #services: WalkServices;
  readonly #stack: OpenDirectory[] = [];
  #olderRoots: ReadonlyMap<ByteString, TreeEntry> = new Map();

  constructor(plan: SourcePlan, services: WalkServices) {
    this.#plan = plan;
    this.#services = services;
  }

  /** `parent`: what to compare the sources with. */
  async begin(parent: ParentSnapshot | undefined): Promise<void> {
    const { base, names } = this.#plan;
    const path = '' as ByteString;
    this.#olderRoots = parent?.olderRoots ?? new Map();
    const previousTree = await this.#services.parentTrees.read(parent?.tree);
    const location = openDirectoryPath(base, { side: 'source' });
    const rest = { parent: undefined, metadata: undefined, previous: undefined, previousTree, entries: [] };
    const listed = names === undefined ? this.#listNames(location, path) : [...names.keys()];
    this.#push({ name: path, path, location, ...rest }, { names: listed, planned: names });
  }

  /**
   * Goes on by one name. Undefined where that gives nothing to store. No promise where nothing had to be waited for:
   * most names of most backups.
   */
  next(): Promise<undefined> | WalkStep | undefined {
    const open = this.#stack.at(-1)!;
    const name = open.names[open.position];
    open.position += 1;
    if (name !== undefined) return this.#visit(open, name);
    this.#stack.pop();
    return { kind: 'leave', directory: open.directory };
  }

  get isDone(): boolean {
    return this.#stack.length === 0;
  }

  /** Gives back what the walk still holds. */
  close(): void {
    for (const { directory } of this.#stack) directory.location.close();
  }

  #push(directory: WalkedDirectory, rest: Omit<OpenDirectory, 'directory' | 'position'>): void {
    this.#stack.push({ directory, ...rest, position: 0 });
  }

  #visit(open: OpenDirectory, name: ByteString): Promise<undefined> | WalkStep | undefined {
    const { directory } = open;
    const path = joinPath(directory.path, name);
    const planned = open.planned?.get(name);
    const { exclusion, owners } = this.#services;
    if (planned === undefined && exclusion.isExcluded(path, name)) return undefined;
    try {
      const root = planned?.isRoot === true ? joinPath(this.#plan.base, path) : undefined;
      const followed = root === undefined ? undefined : this.#plan.followed.get(root);
      const location = followed ?? directory.location.childPath(name);
      const metadata = planned === undefined ? readMetadata(location) : readMetadataOfPlanned(location, planned);
      const older = root === undefined ? undefined : this.#olderRoots.get(root);
      const previous = older ?? directory.previousTree?.entries.get(name);
      if (metadata.type === 'directory')
        return this.#enter({ directory, name, path, metadata, previous }, planned, followed);
      if (metadata.type === 'file') return this.#file({ directory, name, path: location, metadata, previous });
      return { kind: 'entry', directory, entry: buildOtherEntry(name, location, metadata, owners) };
    } catch (error) {
      this.#services.problems.skip(path, 'stat', error, { mustExist: planned !== undefined });
      return undefined;
    }
  }

  /** Whether the directory is the repository of this backup. It is an error only where it was named as a source. */
  #skipsRepository(
    { path, metadata }: SeenDirectory,
    { prefix }: DirectoryPath,
    { names, planned }: { readonly names: readonly ByteString[]; readonly planned: PlannedName | undefined },
  ): boolean {
    if (!this.#services.ownRepository.skips({ path, metadata, prefix }, names)) return false;
    if (planned?.isRoot === true) {
      this.#services.problems.tell(path, 'list', 'is the repository of this backup, or a copy of it; it is left out');
    }
    return true;
  }

  async #enter(
    seen: SeenDirectory,
    planned: PlannedName | undefined,
    followed: ByteString | undefined,
  ): Promise<undefined> {
    const { directory: parent, name, path, metadata, previous } = seen;
    const some = planned?.isRoot === false ? planned.children : undefined;
    const previousTree = await this.#services.parentTrees.read(previous?.treeId);
    const location = this.#open(seen, followed);
    if (location === undefined) return;
    const names = some === undefined ? this.#listNames(location, path) : [...some.keys()].toSorted();
    if (this.#skipsRepository(seen, location, { names, planned })) {
      location.close();
      return;
    }
    const directory = { parent, name, path, metadata, location, previous, previousTree, entries: [] };
    this.#push(directory, { names, planned: some });
  }

  #open({ directory, name, path }: SeenDirectory, followed: ByteString | undefined): DirectoryPath | undefined {
    try {
      if (followed !== undefined) return openDirectoryPath(followed, { side: 'source' });
      return directory.location.enter(name);
    } catch (error) {
      this.#services.problems.skip(path, 'list', error);
      return undefined;
    }
  }

  /** The names in a directory; a directory that cannot be listed is saved as an empty one, and reported. */
  #listNames(location: DirectoryPath, path: ByteString): ByteString[] {
    try {
      return listNames(location.prefix);
    } catch (error) {
      this.#services.problems.skip(path, 'list', error);
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

interface SeenDirectory {
  readonly directory: WalkedDirectory;
  readonly name: ByteString;
  readonly path: ByteString;
  readonly metadata: SourceMetadata;
  readonly previous: TreeEntry | undefined;
}

/** Above a root, and where a named root is a symlink to follow, symlinks are seen through. */
function readMetadataOfPlanned(location: ByteString, planned: PlannedName): SourceMetadata {
  return planned.isRoot ? readMetadata(location) : readMetadataFollowing(location);
}

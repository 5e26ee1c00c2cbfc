import { SourceError } from '../../errors.ts';
import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { openOwnerNames } from '../../files/owner-names.ts';
import { listNames, readLinkTarget } from '../../files/source-files.ts';
import { readMetadata, readMetadataFollowing } from '../../files/source-metadata.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import { encodeTree } from '../../format/tree.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';
import { buildEntry } from './entry-builder.ts';
import type { SourceProblem } from './problems.ts';
import { readParentEntries } from './parent-tree.ts';
import type { ParentEntries } from './parent-tree.ts';
import type { PlannedName, SourcePlan } from './source-plan.ts';
import type { WalkServices } from './walk-services.ts';

/** A directory whose entries are being collected. */
interface OpenDirectory {
  readonly name: ByteString;
  /** Relative to the common parent of the roots. */
  readonly path: ByteString;
  readonly metadata: SourceMetadata | undefined;
  readonly location: DirectoryPath;
  readonly names: readonly ByteString[];
  /** Where only some of the names are saved. */
  readonly planned: ReadonlyMap<ByteString, PlannedName> | undefined;
  readonly previous: TreeEntry | undefined;
  readonly previousEntries: ParentEntries;
  readonly entries: TreeEntry[];
  position: number;
}

/** Walks the sources, depth first with a stack of its own, and stores each directory's tree when its last name is done. */
export class SourceWalk {
  readonly #plan: SourcePlan;
  readonly #services: WalkServices;
  readonly #owners = openOwnerNames();
  readonly #stack: OpenDirectory[] = [];

  constructor(plan: SourcePlan, services: WalkServices) {
    this.#plan = plan;
    this.#services = services;
  }

  /** Returns the id of the root tree. `parentTree` is the root tree of the snapshot to compare with. */
  async run(parentTree: Uint8Array | undefined): Promise<Uint8Array> {
    try {
      return await this.#walk(parentTree);
    } finally {
      for (const directory of this.#stack) directory.location.close();
    }
  }

  async #walk(parentTree: Uint8Array | undefined): Promise<Uint8Array> {
    const { base, names } = this.#plan;
    const { reader, pacer } = this.#services;
    const root = { name: '' as ByteString, path: '' as ByteString, metadata: undefined, previous: undefined };
    const location = openDirectoryPath(base, { side: 'source' });
    const previousEntries = await readParentEntries(reader, parentTree);
    const listed = names === undefined ? this.#listNames(location, '' as ByteString) : [...names.keys()];
    this.#stack.push({ ...root, location, names: listed, planned: names, previousEntries, entries: [], position: 0 });
    for (;;) {
      const directory = this.#stack.at(-1)!;
      const name = directory.names[directory.position];
      directory.position += 1;
      if (name !== undefined) {
        const step = this.#visit(directory, name);
        if (step !== undefined) await step;
      } else {
        const treeId = await this.#finish(directory);
        if (this.#stack.length === 0) return treeId;
      }
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** One name of a directory. No promise where nothing had to be waited for: most names of most backups. */
  #visit(directory: OpenDirectory, name: ByteString): Promise<void> | undefined {
    const path = joinPath(directory.path, name);
    const planned = directory.planned?.get(name);
    try {
      const followed = planned?.isRoot === true ? this.#plan.followed.get(joinPath(this.#plan.base, path)) : undefined;
      const location = followed ?? directory.location.childPath(name);
      const metadata = planned === undefined ? readMetadata(location) : readMetadataOfPlanned(location, planned);
      const { exclusion } = this.#services;
      if (exclusion.isRepository(metadata)) return this.#passOverRepository(path, planned);
      if (planned === undefined && exclusion.isExcluded(path, metadata.type)) return undefined;
      const previous = directory.previousEntries.get(name);
      const seen = { directory, name, path, location, metadata, previous };
      if (metadata.type === 'directory') return this.#enter(seen, planned, followed);
      if (metadata.type === 'file') return this.#saveFile(seen);
      directory.entries.push(this.#otherEntry(seen));
      return undefined;
    } catch (error) {
      this.#report(path, 'stat', error, planned !== undefined);
      return undefined;
    }
  }

  /** It would swallow itself. Somebody who names it gets to know that. */
  #passOverRepository(path: ByteString, planned: PlannedName | undefined): undefined {
    if (planned?.isRoot !== true) return undefined;
    const message = 'is the repository that this backup goes to; it is left out';
    this.#services.onProblem({ path: this.#absolute(path), during: 'list', message });
    return undefined;
  }

  async #enter(seen: SeenName, planned: PlannedName | undefined, followed: ByteString | undefined): Promise<void> {
    const { name, path, metadata, previous } = seen;
    const some = planned?.isRoot === false ? planned.children : undefined;
    const location = this.#open(seen, followed);
    if (location === undefined) return;
    const names = some === undefined ? this.#listNames(location, path) : [...some.keys()].toSorted();
    const previousEntries = await readParentEntries(this.#services.reader, previous?.treeId);
    const rest = { planned: some, previous, previousEntries, entries: [], position: 0 };
    this.#stack.push({ name, path, metadata, location, names, ...rest });
  }

  #open({ directory, name, path }: SeenName, followed: ByteString | undefined): DirectoryPath | undefined {
    try {
      if (followed !== undefined) return openDirectoryPath(followed, { side: 'source' });
      return directory.location.enter(name);
    } catch (error) {
      this.#report(path, 'list', error, true);
      return undefined;
    }
  }

  /** The names in a directory; a directory that cannot be listed is saved as an empty one, and reported. */
  #listNames(location: DirectoryPath, path: ByteString): ByteString[] {
    try {
      return listNames(location.prefix);
    } catch (error) {
      this.#report(path, 'list', error, true);
      return [];
    }
  }

  async #finish(directory: OpenDirectory): Promise<Uint8Array> {
    const { entries, metadata, name, previous } = directory;
    this.#stack.pop();
    directory.location.close();
    const treeId = await this.#services.trees.save(encodeTree(entries));
    const parent = this.#stack.at(-1);
    if (parent !== undefined && metadata !== undefined) {
      const entry = buildEntry(name, metadata, this.#owners, { treeId });
      this.#services.tally.countDirectory(entry, previous);
      parent.entries.push(entry);
    }
    return treeId;
  }

  #saveFile(seen: SeenName): Promise<void> | undefined {
    const { directory, name, metadata, previous } = seen;
    const { files, tally } = this.#services;
    const known = files.reuse(metadata, previous);
    if (known === undefined) return this.#readFile(seen);
    const content = { chunkIds: known.chunkIds, sizeBytes: known.sizeBytes, changedWhileRead: known.changedWhileRead };
    const entry = known.isSameEntry ? previous! : buildEntry(name, metadata, this.#owners, content);
    tally.countFile(entry, previous, true);
    directory.entries.push(entry);
    return undefined;
  }

  async #readFile(seen: SeenName): Promise<void> {
    const { directory, name, path, location, metadata, previous } = seen;
    try {
      this.#services.tally.begin(path);
      const saved = await this.#services.files.save(location, metadata);
      const entry = buildEntry(name, saved.metadata, this.#owners, saved);
      this.#services.tally.countFile(entry, previous, false);
      directory.entries.push(entry);
      if (!saved.changedWhileRead) return;
      const message = 'changed while it was read; the copy may mix two states';
      this.#services.onProblem({ path: this.#absolute(path), during: 'changed', message });
    } catch (error) {
      this.#report(path, 'read', error, false);
    }
  }

  #otherEntry({ name, location, metadata }: SeenName): TreeEntry {
    const content = metadata.type === 'symlink' ? { linkTarget: readLinkTarget(location) } : {};
    return buildEntry(name, metadata, this.#owners, content);
  }

  /** Only a source may be skipped: everything else, a full repository above all, ends the backup. */
  #report(path: ByteString, during: SourceProblem['during'], error: unknown, mustExist: boolean): void {
    if (!(error instanceof SourceError)) throw error;
    // A file that went away since its directory was listed is not a failure.
    if (error.errno === 'ENOENT' && !mustExist) return;
    this.#services.onProblem({ path: this.#absolute(path), during, message: error.message });
  }

  #absolute(path: ByteString): ByteString {
    return path === '' ? this.#plan.base : joinPath(this.#plan.base, path);
  }
}

interface SeenName {
  readonly directory: OpenDirectory;
  readonly name: ByteString;
  readonly path: ByteString;
  /** What the system is given. */
  readonly location: ByteString;
  readonly metadata: SourceMetadata;
  readonly previous: TreeEntry | undefined;
}

/** Above a root, and where a named root is a symlink to follow, symlinks are seen through. */
function readMetadataOfPlanned(location: ByteString, planned: PlannedName): SourceMetadata {
  return planned.isRoot ? readMetadata(location) : readMetadataFollowing(location);
}

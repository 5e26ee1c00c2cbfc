import { SnapshotNotFoundError } from '../../core/errors.ts';
import { currentDirectory } from '../../core/files/paths/current-directory.ts';
import { absolutePath, isWithin } from '../../core/files/paths/root-paths.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import { byteStringOf, joinPath, textOf } from '../../core/util/byte-string.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { changeOf } from '../../core/snapshots/entry-changes.ts';
import type { EntryChange } from '../../core/snapshots/entry-changes.ts';
import { PathLookup } from './path-lookup.ts';
import type { LookedUp } from './path-lookup.ts';
import { noSnapshots } from '../../core/snapshots/unmatched-filter.ts';
import { matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export interface HistoryOptions {
  /**
   * A file or directory: an absolute path as on the machine that was backed up, or one that starts at the current
   * directory. If no snapshot has that, a relative path is taken from the root of each snapshot, as `listFiles` gives
   * it.
   */
  readonly path: PathInput;
  readonly filter?: SnapshotFilter | undefined;
  /** Changes of nothing but mode, owner, times or attributes make a version too. */
  readonly metadata?: boolean | undefined;
}

/** A version of a path: what it was in one snapshot and the following ones of the same host. */
export interface PathVersion {
  /** The first snapshot with the version. */
  readonly listing: SnapshotListing;
  /** The absolute path. */
  readonly path: ByteString;
  /** Compared with the version before. `+`: it is the first one, or was absent; `-`: it is absent. */
  readonly change: EntryChange | '+' | '-';
  /** Undefined if it is absent. It has no chunk ids. Of a directory, the content is its tree. */
  readonly entry: TreeEntry | undefined;
  /** How many snapshots have the version, from this one to the next version. */
  snapshotCount: number;
}

export interface HistoryResult {
  /** In the order of their snapshots, oldest first. */
  readonly versions: readonly PathVersion[];
  /** The number of snapshots that were made of the path, or of what is around it. */
  readonly snapshotCount: number;
  /** How many trees were read. */
  readonly treesRead: number;
  /** Trees that could not be read; each was reported by a notice. Their snapshots are left out. */
  readonly unreadableTrees: number;
}

/** Where to look for the path. */
interface Search {
  readonly names: readonly ByteString[];
  /** How many of the names come after the base of a snapshot; undefined if the snapshot was not made of the path. */
  readonly countIn: (snapshot: Snapshot) => number | undefined;
}

/**
 * Returns the versions of a path in the snapshots of each host: a snapshot in which it is as before makes none. Each
 * tree on the way to the path is read once.
 * @throws SnapshotNotFoundError if it is in no snapshot
 */
export async function findHistory(context: OperationContext, options: HistoryOptions): Promise<HistoryResult> {
  return await withRepository(context, 'read', async (repository) => {
    const found = await repository.files.readSnapshots();
    for (const [snapshotId, reason] of [...found.copied, ...found.damaged])
      context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
    const listings = found.listings.filter(({ snapshot }) => matchesFilter(snapshot, options.filter ?? {}));
    if (listings.length === 0 && found.listings.length > 0) throw noSnapshots(found.listings, options.filter ?? {});
    const { reader } = await repository.openState();
    beginPhase(context.progress, 'searching');
    let result: HistoryResult | undefined;
    for (const search of searchesFor(byteStringOf(options.path))) {
      result = await new HistoryRun(context, reader, search, options.metadata === true).run(listings);
      if (result.versions.length > 0 || result.unreadableTrees > 0) return result;
    }
    throw new SnapshotNotFoundError(`no snapshot contains ${textOf(byteStringOf(options.path))}`, {
      advice: { code: 'find-by-name' },
    });
  });
}

function searchesFor(path: ByteString): Search[] {
  const absolute = absolutePath(path, path.startsWith('/') ? path : currentDirectory());
  const names = namesOf(absolute);
  const countIn = ({ base, paths }: Snapshot): number | undefined => {
    const isCovered = paths.some((each) => isWithin(absolute, each) || isWithin(each, absolute));
    return isCovered && isWithin(absolute, base) ? names.length - namesOf(base).length : undefined;
  };
  if (path.startsWith('/')) return [{ names, countIn }];
  const inside = namesOf(absolutePath(path, '/' as ByteString));
  return [
    { names, countIn },
    { names: inside, countIn: () => inside.length },
  ];
}

function namesOf(path: ByteString): ByteString[] {
  return path.split('/').filter((name) => name !== '') as ByteString[];
}

function isSameTree({ treeId: a }: TreeEntry, { treeId: b }: TreeEntry): boolean {
  return a === undefined || b === undefined || Buffer.compare(a, b) === 0;
}

class HistoryRun {
  readonly #context: OperationContext;
  readonly #search: Search;
  readonly #metadata: boolean;
  readonly #lookup: PathLookup;
  readonly #versions: PathVersion[] = [];
  /** The last version on each host, and what it was found as. */
  readonly #last = new Map<string, { readonly version: PathVersion; readonly found: LookedUp }>();
  #current: SnapshotListing | undefined;
  #unreadableTrees = 0;

  constructor(context: OperationContext, reader: StateReader, search: Search, metadata: boolean) {
    this.#context = context;
    this.#search = search;
    this.#metadata = metadata;
    this.#lookup = new PathLookup(reader, search.names, (error, names) => this.#report(error, names));
  }

  async run(listings: readonly SnapshotListing[]): Promise<HistoryResult> {
    const pacer = new Pacer(this.#context);
    let snapshotCount = 0;
    for (const listing of listings) {
      const count = this.#search.countIn(listing.snapshot);
      if (count === undefined) continue;
      snapshotCount += 1;
      this.#current = listing;
      this.#add(listing, await this.#lookup.find(Buffer.from(listing.snapshot.tree, 'hex'), count));
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    const { treesRead } = this.#lookup;
    return { versions: this.#versions, snapshotCount, treesRead, unreadableTrees: this.#unreadableTrees };
  }

  #add(listing: SnapshotListing, found: LookedUp): void {
    if (found === 'unreadable') return;
    const { hostname } = listing.snapshot;
    const last = this.#last.get(hostname);
    const change = this.#changeTo(found, last?.found);
    if (change === undefined) {
      if (last !== undefined) last.version.snapshotCount += 1;
      return;
    }
    const entry = found === 'absent' ? undefined : found.entry;
    const version = { listing, path: this.#pathIn(listing.snapshot), change, entry, snapshotCount: 1 };
    this.#versions.push(version);
    this.#last.set(hostname, { version, found });
  }

  /** Before the first version, being absent is none. */
  #changeTo(found: LookedUp, before: LookedUp | undefined): PathVersion['change'] | undefined {
    if (found === before || (before === undefined && found === 'absent')) return undefined;
    if (typeof found !== 'object') return '-';
    if (typeof before !== 'object') return '+';
    const change = changeOf(before.entry, found.entry);
    if (change === 'T' || change === 'M') return change;
    if (found.content !== before.content || !isSameTree(found.entry, before.entry)) return 'M';
    return this.#metadata ? change : undefined;
  }

  #pathIn({ base }: Snapshot): ByteString {
    const { names, countIn } = this.#search;
    const inside = names.slice(names.length - countIn(this.#current!.snapshot)!).join('/') as ByteString;
    return inside === '' ? base : joinPath(base, inside);
  }

  #report({ message: reason }: Error, names: readonly ByteString[]): void {
    this.#unreadableTrees += 1;
    const { id, snapshot } = this.#current!;
    const skipped = this.#search.names.length - this.#search.countIn(snapshot)!;
    const path = names.slice(skipped).reduce((parent, name) => joinPath(parent, name), snapshot.base);
    this.#context.onNotice?.({ kind: 'tree-unreadable', snapshotId: id, path, reason });
  }
}

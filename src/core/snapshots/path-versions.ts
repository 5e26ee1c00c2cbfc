import { absolutePath, isWithin } from '../files/paths/root-paths.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { StateReader } from '../repository/state-reader.ts';
import type { Caller } from '../session/caller.ts';
import { joinPath } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';
import { Pacer } from '../util/pacer.ts';
import { changeOf } from './entry-changes.ts';
import type { EntryChange } from './entry-changes.ts';
import { PathLookup } from './path-lookup.ts';
import type { LookedUp } from './path-lookup.ts';

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
  readonly snapshotCount: number;
}

/** A path to look for in snapshots. */
export interface SoughtPath {
  readonly names: readonly ByteString[];
  /** How many of the names come after the base of a snapshot; undefined if the snapshot was not made of the path. */
  readonly countIn: (snapshot: Snapshot) => number | undefined;
}

export interface VersionOptions {
  /** Changes of nothing but mode, owner, times or attributes make a version too. */
  readonly metadata?: boolean | undefined;
}

/** An absolute path, as on the machine that was backed up. */
export function soughtPath(path: ByteString): SoughtPath {
  const absolute = absolutePath(path, '/' as ByteString);
  const names = namesOf(absolute);
  const countIn = ({ base, paths }: Snapshot): number | undefined => {
    const isCovered = paths.some((each) => isWithin(absolute, each) || isWithin(each, absolute));
    return isCovered && isWithin(absolute, base) ? names.length - namesOf(base).length : undefined;
  };
  return { names, countIn };
}

/** A path inside of snapshots. */
export function soughtInside(path: ByteString): SoughtPath {
  const names = namesOf(absolutePath(path, '/' as ByteString));
  return { names, countIn: () => names.length };
}

function namesOf(path: ByteString): ByteString[] {
  return path.split('/').filter((name) => name !== '') as ByteString[];
}

function isSameTree({ treeId: a }: TreeEntry, { treeId: b }: TreeEntry): boolean {
  return a === undefined || b === undefined || Buffer.compare(a, b) === 0;
}

/** Finds the versions of one path. Each tree on the way to it is read once. */
export class PathVersions {
  /** The number of snapshots that were made of the path, or of what is around it. */
  snapshotCount = 0;
  /** Trees that could not be read; each was reported by a notice. Their snapshots are left out. */
  unreadableTrees = 0;
  readonly #caller: Caller;
  readonly #sought: SoughtPath;
  readonly #options: VersionOptions;
  readonly #lookup: PathLookup;
  /** The last version on each host, and what it was found as. */
  readonly #last = new Map<string, { readonly version: PathVersion; readonly found: LookedUp }>();
  #current: SnapshotListing | undefined;

  constructor(caller: Caller, reader: StateReader, sought: SoughtPath, options: VersionOptions = {}) {
    this.#caller = caller;
    this.#sought = sought;
    this.#options = options;
    this.#lookup = new PathLookup(reader, sought.names, (error, names) => this.#report(error, names));
  }

  /** How many trees were read. */
  get treesRead(): number {
    return this.#lookup.treesRead;
  }

  /** Takes snapshots, oldest first. Yields each version of a host once the next one is found, and the last ones at the end. */
  async *among(listings: readonly SnapshotListing[]): AsyncGenerator<PathVersion> {
    const pacer = new Pacer(this.#caller);
    for (const listing of listings) {
      const count = this.#sought.countIn(listing.snapshot);
      if (count === undefined) continue;
      this.snapshotCount += 1;
      this.#current = listing;
      const ended = this.#add(listing, await this.#lookup.find(Buffer.from(listing.snapshot.tree, 'hex'), count));
      if (ended !== undefined) yield ended;
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    for (const { version } of this.#last.values()) yield version;
  }

  /** Returns the version before, if the path is another one now. */
  #add(listing: SnapshotListing, found: LookedUp): PathVersion | undefined {
    if (found === 'unreadable') return undefined;
    const { hostname } = listing.snapshot;
    const last = this.#last.get(hostname);
    const change = this.#changeTo(found, last?.found);
    if (change === undefined) {
      if (last === undefined) return undefined;
      const version = { ...last.version, snapshotCount: last.version.snapshotCount + 1 };
      this.#last.set(hostname, { ...last, version });
      return undefined;
    }
    const entry = found === 'absent' ? undefined : found.entry;
    const version = { listing, path: this.#pathIn(listing.snapshot), change, entry, snapshotCount: 1 };
    this.#last.set(hostname, { version, found });
    return last?.version;
  }

  /** Before the first version, being absent is none. */
  #changeTo(found: LookedUp, before: LookedUp | undefined): PathVersion['change'] | undefined {
    if (found === before || (before === undefined && found === 'absent')) return undefined;
    if (typeof found !== 'object') return '-';
    if (typeof before !== 'object') return '+';
    const change = changeOf(before.entry, found.entry);
    if (change === 'T' || change === 'M') return change;
    if (found.content !== before.content || !isSameTree(found.entry, before.entry)) return 'M';
    return this.#options.metadata === true ? change : undefined;
  }

  #pathIn(snapshot: Snapshot): ByteString {
    const { names, countIn } = this.#sought;
    const inside = names.slice(names.length - countIn(snapshot)!).join('/') as ByteString;
    return inside === '' ? snapshot.base : joinPath(snapshot.base, inside);
  }

  #report({ message: reason }: Error, names: readonly ByteString[]): void {
    this.unreadableTrees += 1;
    const { id, snapshot } = this.#current!;
    const skipped = this.#sought.names.length - this.#sought.countIn(snapshot)!;
    const path = names.slice(skipped).reduce((parent, name) => joinPath(parent, name), snapshot.base);
    this.#caller.onNotice?.({ kind: 'tree-unreadable', snapshotId: id, path, reason });
  }
}

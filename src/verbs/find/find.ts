import { UsageError } from '../../core/errors.ts';
import { PathAutomaton } from '../../core/files/paths/path-automaton.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { ReadSnapshots, SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { findEntry } from '../../core/repository/snapshot-path.ts';
import { readTree } from '../../core/repository/tree-walk.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { NewPaths, foundEntries } from './found-paths.ts';
import type { FoundEntry } from './found-paths.ts';
import { TreeSearch } from './tree-search.ts';
import type { TreeHits } from './tree-search.ts';
import { assertCountable, parseSelector, selectSnapshot } from '../../core/snapshots/select-snapshots.ts';
import { noteUnmatched } from '../../core/snapshots/unmatched-filter.ts';
import { FILTER_KINDS, matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export type { FoundEntry } from './found-paths.ts';

export interface FindOptions {
  /**
   * Patterns of restic: one without a leading slash matches at any depth, also with a slash inside; `/abs` is an
   * absolute path on the machine that was backed up. A pattern matches an entry itself, not what is below it.
   */
  readonly patterns: readonly string[];
  readonly ignoresCase?: boolean | undefined;
  /** The snapshots to search, or paths in them: `ID[:path]`, `latest`. Default: all that match the filter. */
  readonly selectors?: readonly PathInput[] | undefined;
  readonly filter?: SnapshotFilter | undefined;
  /** Reports only the newest version of each path of a host. The snapshots are then visited from the newest on. */
  readonly newestOnly?: boolean | undefined;
}

/** Receives what is found. */
export interface FindVisitor {
  /** A snapshot in which something was found, with the number of entries that follow. */
  readonly begin: (listing: SnapshotListing, hits: number) => void;
  readonly visit: (found: FoundEntry) => void;
}

export interface FindResult {
  /** How many snapshots were searched. */
  readonly snapshotCount: number;
  readonly hits: number;
  /** How many trees were read. */
  readonly treesRead: number;
  /** Trees that could not be read; each was reported by a notice. What is below them was not searched. */
  readonly unreadableTrees: number;
}

/** A directory of a snapshot to search in. */
interface SearchPlace {
  readonly listing: SnapshotListing;
  readonly treeId: Uint8Array;
  /** Its absolute path. */
  readonly path: ByteString;
}

/**
 * Finds entries by patterns in many snapshots, the oldest first. Each tree is read once, however many snapshots have it.
 * @throws UsageError for a malformed pattern
 */
export async function findEntries(
  context: OperationContext,
  options: FindOptions,
  visitor: FindVisitor,
): Promise<FindResult> {
  assertArguments<FindOptions>(context, options, {
    patterns: 'texts!',
    ignoresCase: 'flag',
    selectors: 'paths',
    filter: FILTER_KINDS,
    newestOnly: 'flag',
  });
  assertArgument('visitor', visitor, 'visitor!');
  if (options.patterns.length === 0) throw new UsageError('no pattern given');
  const automaton = new PathAutomaton(options.patterns, { ignoresCase: options.ignoresCase === true });
  return await withRepository(context, 'read', async (repository) => {
    const found = await repository.files.readSnapshots();
    const opened = await repository.openState();
    const places = await placesOf(context, options, found, opened);
    const pacer = new Pacer(context);
    let unreadableTrees = 0;
    let current: SearchPlace;
    const onUnreadable = ({ message: reason }: Error, names: readonly ByteString[]): void => {
      unreadableTrees += 1;
      const path = names.reduce((parent, name) => (name === '' ? parent : joinPath(parent, name)), current.path);
      context.onNotice?.({ kind: 'tree-unreadable', snapshotId: current.listing.id, path, reason });
    };
    const search = new TreeSearch({ reader: opened.reader, automaton, pacer, onUnreadable });
    const newPaths = new Map<string, NewPaths>();
    beginPhase(context.progress, 'searching');
    let hits = 0;
    for (const place of options.newestOnly === true ? places.toReversed() : places) {
      current = place;
      let trees = await search.search(place.treeId, automaton.follow(place.path));
      if (options.newestOnly === true) trees = takeNewest(newPaths, place, trees);
      hits += trees?.count ?? 0;
      await emit(place, trees, visitor, pacer);
    }
    return { snapshotCount: places.length, hits, treesRead: search.treesRead, unreadableTrees };
  });
}

async function emit(
  { listing, path }: SearchPlace,
  hits: TreeHits | undefined,
  visitor: FindVisitor,
  pacer: Pacer,
): Promise<void> {
  if (hits === undefined) return;
  visitor.begin(listing, hits.count);
  for (const entry of foundEntries(hits, path)) {
    visitor.visit(entry);
    const pause = pacer.pause();
    if (pause !== undefined) await pause;
  }
}

/** The same path on two hosts is not the same file. */
function takeNewest(
  seen: Map<string, NewPaths>,
  { listing, path }: SearchPlace,
  hits: TreeHits | undefined,
): TreeHits | undefined {
  const { hostname } = listing.snapshot;
  const newPaths = seen.get(hostname) ?? new NewPaths();
  seen.set(hostname, newPaths);
  return newPaths.take(hits, path);
}

async function placesOf(
  context: OperationContext,
  { selectors = [], filter = {} }: FindOptions,
  found: ReadSnapshots,
  { reader, damage }: OpenedState,
): Promise<SearchPlace[]> {
  if (selectors.length === 0) {
    for (const [snapshotId, reason] of [...found.copied, ...found.damaged])
      context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
    const listings = found.listings.filter(({ snapshot }) => matchesFilter(snapshot, filter));
    if (listings.length === 0) noteUnmatched(context, found.listings, filter);
    return listings.map((listing) => rootOf(listing));
  }
  const places: SearchPlace[] = [];
  for (const selector of selectors) {
    const { name, path } = parseSelector(selector);
    const listing = selectSnapshot(context, found, name, { filter });
    assertCountable([name], damage.lostSnapshots);
    const place = await findEntry(async (treeId) => readTree(reader, treeId), listing, path);
    const { treeId } = place.entry;
    if (treeId === undefined) throw new UsageError('a file was given where a snapshot or a directory in one is needed');
    const inside = joinPath(place.directory, place.entry.name);
    places.push({
      listing,
      treeId,
      path: inside === '' ? listing.snapshot.base : joinPath(listing.snapshot.base, inside),
    });
  }
  return places.sort((a, b) => Date.parse(a.listing.snapshot.time) - Date.parse(b.listing.snapshot.time));
}

function rootOf(listing: SnapshotListing): SearchPlace {
  const { tree, base } = listing.snapshot;
  return { listing, treeId: Buffer.from(tree, 'hex'), path: base };
}

import { CorruptDataError, RefusedError, SnapshotNotFoundError, UsageError } from '../errors.ts';
import type { ByteString, PathInput } from '../util/byte-string.ts';
import { byteStringOf, textOf } from '../util/byte-string.ts';
import { isInFuture } from '../util/calendar-span.ts';
import { formatTime } from '../util/format-time.ts';
import type { OptionKinds } from '../session/arguments.ts';
import type { Caller } from '../session/caller.ts';
import { UnknownIdError } from '../session/deleted-snapshot.ts';
import { lostMessage } from '../repository/read-snapshots.ts';
import type { ReadSnapshots, SnapshotListing } from '../repository/read-snapshots.ts';
import { PREFIX_DIGITS_MIN, listingsNear } from './listings-by-id.ts';
import { FILTER_KINDS, groupKey, matchesFilter } from './snapshot-filter.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';
import { joinVersions } from './snapshot-versions.ts';
import { describeGiven, describeUnmatched, enumerate, noSnapshots } from './unmatched-filter.ts';

/** `ID`, `latest` or `latest~N`, optionally followed by a colon and a path inside the snapshot. */
interface SnapshotSelector {
  readonly name: string;
  readonly path: ByteString;
}

export function parseSelector(selector: PathInput): SnapshotSelector {
  const [name = '', ...rest] = byteStringOf(selector).split(':');
  return { name: textOf(name as ByteString), path: rest.join(':') as ByteString };
}

/** Whether a name has the form of one of a snapshot: it is no path then. */
export function isSnapshotName(name: string): boolean {
  return LATEST.test(name) || isIdPrefix(name);
}

export function isIdPrefix(name: string): boolean {
  return ID_PREFIX.test(name);
}

export interface SelectionOptions {
  readonly filter?: SnapshotFilter | undefined;
  /** Refuses `latest` if it is ambiguous: the user may mean a snapshot of a different host or path. */
  readonly isDeleting?: boolean;
}

/** Which snapshots an operation on several of them means. */
export interface SnapshotChoice {
  /** Ids, `latest` or `latest~N`. If there are none, all snapshots that match the filter are meant. */
  readonly selectors: readonly string[];
  readonly filter?: SnapshotFilter | undefined;
}

export const CHOICE_KINDS: OptionKinds<Required<SnapshotChoice>> = { selectors: 'texts!', filter: FILTER_KINDS };

const LATEST = /^latest(?:~(\d{1,9}))?$/;
const ID_PREFIX = new RegExp(`^[0-9a-f]{${PREFIX_DIGITS_MIN},64}$`);

/**
 * Finds the snapshot with this name. `latest` and `latest~N` count back in time among the snapshots that match the
 * filter, versions of the same snapshot as one. An id must match the filter too.
 */
export function selectSnapshot(
  caller: Caller,
  snapshots: ReadSnapshots,
  name: string,
  { filter = {}, isDeleting = false }: SelectionOptions = {},
): SnapshotListing {
  const latest = LATEST.exec(name);
  if (latest === null) return findById(snapshots, name, filter);
  const backups = snapshots.listings.filter(({ snapshot }) => snapshot.hold === undefined);
  const listings = backups.filter(({ snapshot }) => matchesFilter(snapshot, filter));
  const found = findLatest({ ...snapshots, listings }, name, {
    back: Number(latest[1] ?? 0),
    given: listings.length < backups.length ? describeGiven(filter, 'and') : '',
    unmatched: listings.length === 0 ? describeUnmatched(backups, filter) : undefined,
  });
  warnOfFuture(caller, listings);
  const groups = new Map(listings.map((listing) => [groupKey(listing.snapshot), listing]));
  if (groups.size > 1) {
    if (isDeleting) throw ambiguousLatest(name, [...groups.values()]);
    caller.onNotice?.({ kind: 'latest-among-groups', name, snapshot: found, groupCount: groups.size });
  }
  return found;
}

/**
 * Finds the snapshots with these names or, without names, those that match the filter.
 * @throws UsageError if there are neither names nor a filter
 * @throws SnapshotNotFoundError if nothing matches
 */
export function selectSnapshots(
  caller: Caller,
  snapshots: ReadSnapshots,
  { selectors, filter = {} }: SnapshotChoice,
  isDeleting = false,
): SnapshotListing[] {
  const selected = new Map<string, SnapshotListing>();
  for (const selector of selectors) {
    const listing = selectSnapshot(caller, snapshots, selector, { filter, isDeleting });
    selected.set(listing.id, listing);
  }
  if (selectors.length > 0) return [...selected.values()];
  if (Object.keys(filter).length === 0)
    throw new UsageError('no snapshot given', { advice: { code: 'name-snapshots' } });
  const isMeant = ({ snapshot }: SnapshotListing): boolean =>
    snapshot.hold === undefined && matchesFilter(snapshot, filter);
  const matching = snapshots.listings.filter(isMeant);
  assertAllReadable(snapshots);
  if (matching.length > 0) return matching;
  throw noSnapshots(snapshots.listings, filter);
}

/**
 * Refuses to decide about all snapshots if one cannot be read: its host, paths and time are unknown.
 * @throws CorruptDataError
 */
export function assertAllReadable({ damaged }: ReadSnapshots): void {
  const [reason] = damaged.values();
  if (reason === undefined) return;
  throw new CorruptDataError(`cannot tell which snapshots there are: ${reason}`, {
    advice: { code: 'check-repair-or-name-id' },
  });
}

/** Warns about snapshots dated in the future: each of them stays the latest until its date has passed. */
export function warnOfFuture({ onNotice }: Caller, listings: readonly SnapshotListing[]): void {
  const snapshots = futureSnapshots(listings);
  if (snapshots.length > 0) onNotice?.({ kind: 'dated-in-future', snapshots });
}

export function futureSnapshots(listings: readonly SnapshotListing[]): SnapshotListing[] {
  const nowMs = Date.now();
  return listings.filter(({ snapshot }) => isInFuture(Date.parse(snapshot.time), nowMs));
}

/** For lost snapshots that only a checkpoint knows: `latest` must not mean an older one because the newest is lost. */
export function assertCountable(names: readonly string[], lostIds: readonly string[]): void {
  const name = names.find((each) => LATEST.test(each));
  if (name !== undefined && lostIds[0] !== undefined) throw uncountable(name, lostMessage(lostIds[0]));
}

function findLatest(
  { listings, damaged, deleted }: ReadSnapshots,
  name: string,
  { back, ...filtered }: { readonly back: number; readonly given: string; readonly unmatched: string | undefined },
): SnapshotListing {
  const [reason] = damaged.values();
  if (reason !== undefined) throw uncountable(name, reason);
  const counted = joinVersions(listings);
  const found = counted.at(-1 - back);
  if (found !== undefined) return found.newest;
  throw tooFew(name, counted.length, { ...filtered, deleted });
}

function tooFew(
  name: string,
  count: number,
  {
    given,
    unmatched,
    deleted,
  }: { readonly given: string; readonly unmatched: string | undefined; readonly deleted: boolean },
): SnapshotNotFoundError {
  const isFiltered = given !== '';
  const kind = deleted ? 'deleted snapshot' : 'snapshot';
  const found = `${count === 0 ? 'no' : `only ${count}`} ${kind}${count === 1 || (count === 0 && isFiltered) ? '' : 's'}`;
  const message = isFiltered
    ? (unmatched ?? `${found} ${count > 1 ? 'match' : 'matches'} ${given}`)
    : `there ${count === 1 ? 'is' : 'are'} ${found}`;
  return new SnapshotNotFoundError(`${name} does not exist: ${message}`, {
    advice: { code: deleted ? 'list-deleted-snapshots' : 'list-snapshots' },
  });
}

/** The time of an unreadable snapshot is unknown, so it could be the one that the user means. */
function uncountable(name: string, reason: string): CorruptDataError {
  return new CorruptDataError(`cannot tell which snapshot ${name} is: ${reason}`, {
    advice: { code: 'check-repair-or-name-id' },
  });
}

function ambiguousLatest(name: string, newest: readonly SnapshotListing[]): RefusedError {
  return new RefusedError(
    `${name} is ambiguous, since there are snapshots of different hosts or paths: ${enumerate(newest.map(describeListing))}`,
    { advice: { code: 'choose-snapshot-to-delete' } },
  );
}

function findById(
  { listings, damaged, deleted }: ReadSnapshots,
  prefix: string,
  filter: SnapshotFilter,
): SnapshotListing {
  if (!isIdPrefix(prefix)) {
    throw new UsageError(`"${prefix}" does not name a snapshot`, {
      advice: { code: 'name-one-snapshot' },
    });
  }
  const damagedMatches = [...damaged].filter(([id]) => id.startsWith(prefix));
  // A snapshot that is deleted for a time has a new id, and people know the old one.
  const matches = listingsNear(listings, prefix).filter(
    ({ id, snapshot: { replaces } }) => id.startsWith(prefix) || (deleted && replaces?.startsWith(prefix) === true),
  );
  if (matches.length + damagedMatches.length > 1) {
    const candidates = [...matches.map(describeListing), ...damagedMatches.map(([id]) => `${longId(id)} (damaged)`)];
    throw new SnapshotNotFoundError(`${prefix} matches several snapshots: ${enumerate(candidates)}`, {
      hint: 'Give more digits.',
    });
  }
  if (damagedMatches[0] !== undefined) {
    throw new CorruptDataError(damagedMatches[0][1], { advice: { code: 'check-and-repair' } });
  }
  const [found] = matches;
  if (found === undefined) {
    const described = `begins with ${prefix}${describeSuccessor(listings, prefix)}`;
    if (!deleted)
      throw new UnknownIdError(prefix, `no snapshot id ${described}`, { advice: { code: 'list-snapshots' } });
    throw new SnapshotNotFoundError(`no id of a deleted snapshot ${described}`, {
      advice: { code: 'list-deleted-snapshots' },
    });
  }
  if (matchesFilter(found.snapshot, filter)) return found;
  throw new SnapshotNotFoundError(`${describeListing(found)} does not match ${describeGiven(filter, 'or')}`);
}

/** For a snapshot that was changed or copied and has another id since, which people may not know. */
function describeSuccessor(listings: readonly SnapshotListing[], prefix: string): string {
  const successor = listings.find(({ snapshot: { replaces, original } }) =>
    [replaces, original].some((id) => id?.startsWith(prefix) === true),
  );
  return successor === undefined ? '' : `, but snapshot ${longId(successor.id)} was made from one`;
}

/** Describes a snapshot in a message. */
export function describeListing({ id, snapshot: { time, hostname, paths } }: SnapshotListing): string {
  return `${longId(id)} of ${formatTime(time)} (${hostname}: ${enumerate(paths.map(textOf))})`;
}

function longId(id: string): string {
  return id.slice(0, 12);
}

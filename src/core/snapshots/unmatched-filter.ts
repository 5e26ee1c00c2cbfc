import { SnapshotNotFoundError } from '../errors.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Caller } from '../session/caller.ts';
import { textOf } from '../util/byte-string.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';

/** The maximum number of items listed in a message. */
const SHOWN_MAX = 20;

/** Lists items in a message. */
export function enumerate(items: readonly string[]): string {
  const more = items.length - SHOWN_MAX;
  return [...items.slice(0, SHOWN_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

/** For an operation on all snapshots that match a filter, if none of these does. */
export function noSnapshots(all: readonly SnapshotListing[], filter: SnapshotFilter): SnapshotNotFoundError {
  const given = describeGiven(filter, 'and');
  const message = given === '' ? 'there are no snapshots' : `no snapshot matches ${given}`;
  return new SnapshotNotFoundError(describeUnmatched(all, filter) ?? message, { advice: { code: 'list-snapshots' } });
}

/** Names the conditions of a filter: `the given host and times`. Empty if it has none. */
export function describeGiven(
  { hosts, paths, tags, since, before }: SnapshotFilter,
  conjunction: 'and' | 'or',
): string {
  const times = [since, before].filter((time) => time !== undefined);
  const values = { host: hosts, path: paths, tag: tags?.flat(), time: times.length === 0 ? undefined : times };
  const names = Object.entries(values).flatMap(([noun, given]) =>
    given === undefined ? [] : [given.length === 1 ? noun : `${noun}s`],
  );
  if (names.length === 0) return '';
  const others = names.slice(0, -1).join(', ');
  return `the given ${others}${others === '' ? '' : ` ${conjunction} `}${names.at(-1)}`;
}

/** Tells the caller what a filter names that no snapshot has, if no snapshot matches it. */
export function noteUnmatched({ onNotice }: Caller, all: readonly SnapshotListing[], filter: SnapshotFilter): void {
  const message = describeUnmatched(all, filter);
  if (message !== undefined) onNotice?.({ kind: 'nothing-matches', message });
}

/** Says which host, path or tag no snapshot has, and which there are. Undefined if each one occurs. */
export function describeUnmatched(
  all: readonly SnapshotListing[],
  { hosts = [], paths = [], tags = [] }: SnapshotFilter,
): string | undefined {
  if (all.length === 0) return undefined;
  const having = (valuesOf: (snapshot: Snapshot) => readonly string[]): Set<string> =>
    new Set(all.flatMap(({ snapshot }) => valuesOf(snapshot)));
  const knownHosts = having(({ hostname }) => [hostname]);
  if (hosts.length > 0 && !hosts.some((host) => knownHosts.has(host)))
    return describeOther('is of the host', hosts, 'hosts', knownHosts);
  const knownPaths = having((snapshot) => snapshot.paths.map(textOf));
  const path = paths.find((each) => !knownPaths.has(each));
  if (path !== undefined) return describeOther('is of the path', [path], 'paths', knownPaths);
  const knownTags = having((snapshot) => snapshot.tags);
  const isKnown = (wanted: readonly string[]): boolean => wanted.every((tag) => knownTags.has(tag));
  if (tags.length > 0 && !tags.some(isKnown)) {
    return describeOther(
      'has the tag',
      tags.flat().filter((tag) => !knownTags.has(tag)),
      'tags',
      knownTags,
    );
  }
  return undefined;
}

function describeOther(relation: string, wanted: readonly string[], noun: string, known: ReadonlySet<string>): string {
  const start = `no snapshot ${relation} ${wanted.join(' or ')}`;
  return known.size === 0 ? start : `${start} (${noun}: ${enumerate([...known].toSorted())})`;
}

import type { Snapshot } from '../format/snapshot.ts';
import type { OptionKinds } from '../session/arguments.ts';
import { textOf } from '../util/byte-string.ts';

/** Conditions for snapshots. A missing condition matches every snapshot. */
export interface SnapshotFilter {
  /** The snapshot was made on one of these hosts. */
  readonly hosts?: readonly string[];
  /** The snapshot contains all of these absolute paths, and possibly others. */
  readonly paths?: readonly string[];
  /** The snapshot has all tags of at least one of these lists. */
  readonly tags?: readonly (readonly string[])[];
  /** The snapshot was made at this time or later (RFC 3339). */
  readonly since?: string;
  /** The snapshot was made before this time (RFC 3339). */
  readonly before?: string;
}

export const FILTER_KINDS: OptionKinds<Required<SnapshotFilter>> = {
  hosts: 'texts',
  paths: 'texts',
  tags: 'lists',
  since: 'time',
  before: 'time',
};

export function matchesFilter(snapshot: Snapshot, { hosts, paths = [], tags, since, before }: SnapshotFilter): boolean {
  const timeMs = Date.parse(snapshot.time);
  const snapshotPaths = new Set(paths.length === 0 ? [] : snapshot.paths.map((path) => textOf(path)));
  return (
    (hosts === undefined || hosts.includes(snapshot.hostname)) &&
    paths.every((path) => snapshotPaths.has(path)) &&
    (tags === undefined || tags.some((all) => all.every((tag) => snapshot.tags.includes(tag)))) &&
    (since === undefined || timeMs >= Date.parse(since)) &&
    (before === undefined || timeMs < Date.parse(before))
  );
}

/** Snapshots with the same key have the same host and paths, so they form a series. */
export function groupKey({ hostname, paths }: Snapshot): string {
  return JSON.stringify([hostname, paths]);
}

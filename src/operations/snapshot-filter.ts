import type { Snapshot } from '../format/snapshot.ts';
import { textOf } from '../util/byte-string.ts';

/** Which snapshots a command is about. What is absent does not restrict. */
export interface SnapshotFilter {
  /** Made on any of these hosts. */
  readonly hosts?: readonly string[];
  /** Of all of these absolute paths, and maybe others. */
  readonly paths?: readonly string[];
  /** With all tags of at least one of these lists. */
  readonly tags?: readonly (readonly string[])[];
  /** Made at this time or later; RFC 3339. */
  readonly since?: string;
  /** Made before this time; RFC 3339. */
  readonly before?: string;
}

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

/** Snapshots with the same key are of the same host and paths, so that one continues the other. */
export function groupKey({ hostname, paths }: Snapshot): string {
  return JSON.stringify([hostname, paths]);
}

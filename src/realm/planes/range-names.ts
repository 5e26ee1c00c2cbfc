import { createHash } from 'node:crypto';

/**
 * The name of the file that tells where in time, path and size the files of these snapshots are: `planes/ranges/<digest>`,
 * with the SHA-256 of their sorted ids. So a file belongs to exactly these snapshots, and never changes.
 */
const NAME = /^planes\/ranges\/[0-9a-f]{64}$/;

/** The digest of a set of snapshots: 64 hex digits. */
export function snapshotsDigest(snapshotIds: Iterable<string>): string {
  return createHash('sha256')
    .update([...snapshotIds].toSorted().join('\n'))
    .digest('hex');
}

export function rangesName(digest: string): string {
  return `planes/ranges/${digest}`;
}

export function isRangesName(name: string): boolean {
  return NAME.test(name);
}

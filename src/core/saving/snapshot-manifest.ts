import { randomBytes } from 'node:crypto';
import { userInfo } from 'node:os';
import type { SnapshotMarks } from '../format/snapshot-marks.ts';
import type { RecordedAttributes, Snapshot, SnapshotSummary } from '../format/snapshot.ts';
import { localOffsetMinutes } from '../util/calendar-span.ts';
import { VERSION } from '../util/version.ts';
import type { ExclusionOptions } from '../sources/exclusion.ts';
import type { BackupTally } from './backup-tally.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';
import type { SourcePlan } from '../sources/source-plan.ts';

export function summarize(
  tally: BackupTally,
  chunkCounts: RepositoryChunkSaver['counts'],
  startedAt: Date,
  errorCount: number,
): SnapshotSummary {
  const { filesNew, filesChanged, filesUnmodified, dirsNew, dirsChanged, dirsUnmodified } = tally;
  return {
    filesNew,
    filesChanged,
    filesUnmodified,
    dirsNew,
    dirsChanged,
    dirsUnmodified,
    ...chunkCounts,
    totalFilesProcessed: tally.filesCount,
    totalBytesProcessed: tally.totalBytesProcessed,
    backupStart: startedAt.toISOString(),
    backupEnd: new Date().toISOString(),
    errorCount,
  };
}

/** Returns the time of a snapshot in RFC 3339: the one that the user gave, or now. */
export function snapshotTime(text: string | undefined, now: Date): string {
  return new Date(text ?? now).toISOString();
}

/** Every command reads all manifests, so a longer list of patterns is left out. */
const PATTERNS_LENGTH_MAX = 64 * 1024;

/** What a manifest says beside the backup itself. Patterns do not apply to a stream. */
export function marksOf(
  options: Pick<SnapshotMarks, 'comment' | 'keepUntil'> &
    Pick<ExclusionOptions, 'exclude' | 'iexclude'> & { readonly stream?: unknown },
  startedAt: Date,
): SnapshotMarks {
  const { comment, keepUntil, stream, exclude = [], iexclude = [] } = options;
  const isRecorded = (patterns: readonly string[]): boolean =>
    stream === undefined && patterns.length > 0 && patterns.join('').length <= PATTERNS_LENGTH_MAX;
  return {
    ...(comment === undefined ? {} : { comment }),
    ...(keepUntil === undefined ? {} : { keepUntil: snapshotTime(keepUntil, startedAt) }),
    ...(isRecorded(exclude) ? { excludes: exclude } : {}),
    ...(isRecorded(iexclude) ? { iexcludes: iexclude } : {}),
  };
}

/** Builds the manifest of a tree that has been stored. */
export function describeSnapshot(made: {
  readonly hostname: string;
  readonly tags: readonly string[];
  readonly plan: Pick<SourcePlan, 'base' | 'roots'>;
  readonly tree: Uint8Array;
  readonly time: string;
  readonly summary: SnapshotSummary;
  readonly parentId: string | undefined;
  readonly attributes: RecordedAttributes | undefined;
  readonly marks?: SnapshotMarks;
}): Snapshot {
  const { hostname, tags, plan, tree, time, summary, parentId, attributes, marks } = made;
  const { username, uid, gid } = currentUser();
  return {
    formatVersion: 1,
    nonce: randomBytes(16).toString('hex'),
    tree: Buffer.from(tree).toString('hex'),
    base: plan.base,
    paths: plan.roots,
    time,
    hostname,
    username,
    uid,
    gid,
    tags,
    ...(parentId === undefined ? {} : { parent: parentId }),
    utcOffsetMinutes: localOffsetMinutes(Date.parse(time)),
    ...marks,
    ...(attributes === undefined ? {} : { attributes }),
    programVersion: `ldm ${VERSION}`,
    summary,
  };
}

/** In a container, the user may have a number but no name. */
function currentUser(): { readonly username: string; readonly uid: number; readonly gid: number } {
  try {
    return userInfo();
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { username: process.env['USER'] ?? String(uid), uid, gid: process.getgid?.() ?? -1 };
  }
}

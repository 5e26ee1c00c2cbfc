import { randomBytes } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Snapshot, SnapshotSummary } from '../../format/snapshot.ts';
import { VERSION } from '../version.ts';
import type { BackupTally } from './backup-tally.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';
import type { SourcePlan } from './source-plan.ts';

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

/** Builds the manifest of a tree that has been stored. */
export function describeSnapshot(made: {
  readonly hostname: string;
  readonly tags: readonly string[];
  readonly plan: SourcePlan;
  readonly tree: Uint8Array;
  readonly time: string;
  readonly summary: SnapshotSummary;
  readonly parentId: string | undefined;
}): Snapshot {
  const { hostname, tags, plan, tree, time, summary, parentId } = made;
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

import { dirname, join } from 'node:path';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { formatTime } from '../../core/util/format-time.ts';
import { byteStringFromText, textOf } from '../../core/util/byte-string.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';
import { shortId } from '../../console/output/words.ts';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { keptAnswersPath } from '../../console/settings/directories.ts';
import type { Candidate, Completion } from './candidates.ts';
import type { Cursor } from './command-line.ts';
import { questionOf } from './completing.ts';
import { stampOf, withAnswer } from './kept-answers.ts';

/** Asks the repository what can be at the cursor, and keeps the answer for the next time. */
export async function storedCandidates(
  context: OperationContext,
  cursor: Cursor,
  wanted: Completion['wanted'],
): Promise<readonly Candidate[]> {
  const { commands, current, options } = cursor;
  const isDeleted = commands.at(-1)!.names[0] === 'undelete';
  const { localDirectory } = context.backend;
  // Before the repository is read: what changes meanwhile makes the answer outdated.
  const stamp = stampOf(
    localDirectory === undefined ? undefined : join(localDirectory, isDeleted ? 'deleted' : 'snapshots'),
  );
  const candidates =
    wanted === 'snapshots'
      ? await snapshotCandidates(context, isDeleted)
      : await snapshotPathCandidates(context, current);
  const path = keptAnswersPath(process.env);
  const content = withAnswer(path, { question: questionOf(cursor, wanted), ...stamp, candidates });
  const keepsNothing = options.has('cache') || process.env['LDM_NO_CACHE'] !== undefined;
  if (path === undefined || content === undefined || keepsNothing) return candidates;
  try {
    makeDirectories(dirname(path), { mode: 0o700 });
    replaceFile(byteStringFromText(path), Buffer.from(content), 0o600);
  } catch {
    // The next completion asks again.
  }
  return candidates;
}

/** Snapshots by id, the newest first. */
async function snapshotCandidates(context: OperationContext, deleted: boolean): Promise<Candidate[]> {
  const { withRepository } = await import('../../core/session/session.ts');
  const found = await withRepository(context, 'list', async ({ files }) => files.readSnapshots({ deleted }));
  const listings = found.listings.toReversed();
  const newest = listings[0] === undefined || deleted ? [] : [{ value: 'latest', description: describe(listings[0]) }];
  return [...newest, ...listings.map((listing) => ({ value: shortId(listing.id), description: describe(listing) }))];
}

function describe({ snapshot: { time, hostname, paths } }: SnapshotListing): string {
  return `${formatTime(time)} ${hostname} ${paths.map(textOf).join(' ')}`;
}

/**
 * Snapshots, or once there is a colon, what is in the directory of the snapshot.
 * @param current - such as `latest:docs/no`
 */
async function snapshotPathCandidates(context: OperationContext, current: string): Promise<Candidate[]> {
  const colon = current.indexOf(':');
  if (colon < 0) return await snapshotCandidates(context, false);
  const { openSnapshot } = await import('../../core/snapshots/open-snapshot.ts');
  const directory = current.slice(colon + 1, current.lastIndexOf('/') + 1);
  const opened = await openSnapshot(context, { selector: current.slice(0, colon) });
  try {
    const candidates: Candidate[] = [];
    for await (const entry of opened.entries(directory)) {
      const slash = entry.type === 'directory' ? '/' : '';
      candidates.push({
        value: `${current.slice(0, colon + 1)}${directory}${textOf(entry.name)}${slash}`,
        description: '',
      });
    }
    return candidates;
  } finally {
    await opened.close();
  }
}

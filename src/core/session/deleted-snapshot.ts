import { LdmError, SnapshotNotFoundError } from '../errors.ts';
import type { ErrorDetails } from '../errors.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { RepositoryFiles } from '../repository/repository-files.ts';
import { formatTime } from '../util/format-time.ts';

const SHORT_DIGITS = 8;

/** No snapshot has an id that begins like this. A deleted one may have. */
export class UnknownIdError extends SnapshotNotFoundError {
  readonly prefix: string;

  constructor(prefix: string, message: string, details: ErrorDetails) {
    super(message, details);
    this.prefix = prefix;
  }
}

/** Returns the deleted snapshots that can be brought back and that people know by an id that begins like this. */
export async function deletedSnapshots(
  files: RepositoryFiles,
  prefixes: readonly string[],
): Promise<SnapshotListing[]> {
  const { listings } = await files.readSnapshots({ deleted: true });
  return listings.filter(({ id, snapshot: { replaces } }) =>
    prefixes.some((prefix) => id.startsWith(prefix) || replaces?.startsWith(prefix) === true),
  );
}

/** The id by which people know a deleted snapshot: if it is kept for a time, its manifest has another one. */
export function idBeforeDelete({ id, snapshot: { deletedUntil, replaces } }: SnapshotListing): string {
  return deletedUntil === undefined ? id : (replaces ?? id);
}

/** Returns the error to report: if a snapshot was not found because it was deleted, one that says so. */
export async function explainDeleted(files: RepositoryFiles, failure: unknown): Promise<unknown> {
  if (!(failure instanceof UnknownIdError)) return failure;
  try {
    const [found] = await deletedSnapshots(files, [failure.prefix]);
    return found === undefined ? failure : deletedError(found, failure);
  } catch (error) {
    // The first error is the one to report.
    if (error instanceof LdmError) return failure;
    throw error;
  }
}

function deletedError(deleted: SnapshotListing, cause: SnapshotNotFoundError): SnapshotNotFoundError {
  const id = idBeforeDelete(deleted);
  const until = deleted.snapshot.deletedUntil;
  const end = until === undefined ? '' : `; it can be brought back until ${formatTime(until)}`;
  return new SnapshotNotFoundError(`snapshot ${id.slice(0, SHORT_DIGITS)} is deleted${end}`, {
    advice: { code: 'bring-back-snapshot', subject: id },
    cause,
  });
}

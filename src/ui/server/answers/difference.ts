import type { RepositoryReader, SnapshotListing } from '../../../index.ts';
import type { DifferenceAnswer } from '../../api/browse.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { hunksBetween } from '../line-diff.ts';
import { absoluteParameter, snapshotParameter } from '../parameters.ts';
import { textIn } from '../text-content.ts';

const LINES_MAX = 5000;
const BYTES_MAX = 2 * 1024 * 1024;

/** Compares a text in two snapshots. */
export async function answerDifference(
  repository: CurrentRepository,
  parameters: URLSearchParams,
): Promise<DifferenceAnswer> {
  return await repository.read(async (reader) => {
    const after = snapshotParameter(reader, parameters);
    const path = absoluteParameter(after, parameters);
    const earlier = await linesOf(reader, snapshotParameter(reader, parameters, 'before'), path);
    const later = await linesOf(reader, after, path);
    if (typeof earlier === 'string') return { hunks: [], refusal: earlier };
    if (typeof later === 'string') return { hunks: [], refusal: later };
    return { hunks: hunksBetween(earlier, later) };
  });
}

/** Returns the lines with their line breaks, or why there are none. */
async function linesOf(
  reader: RepositoryReader,
  listing: SnapshotListing,
  path: Uint8Array,
): Promise<string[] | string> {
  const snapshot = reader.open(listing);
  const entry = await snapshot.stat(path);
  if (entry.sizeBytes > BYTES_MAX) return 'Texts of more than 2 MiB are not compared.';
  const text = textIn(await snapshot.readRange(entry, 0, BYTES_MAX), false);
  if (text === undefined) return 'The file is not a text, so its versions cannot be compared line by line.';
  const lines = text.split(/(?<=\n)/);
  return lines.length > LINES_MAX ? 'Texts of more than 5,000 lines are not compared.' : lines;
}

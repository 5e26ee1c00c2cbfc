import { readSurely } from '../backend/sure-reading.ts';
import { sha256 } from '../crypto/sha256.ts';
import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import type { LdmError } from '../errors.ts';
import { decodeCommitRecord } from '../format/commit-record.ts';
import type { CommitRecord } from '../format/commit-record.ts';
import { FILE_ID_BYTES } from '../format/constants.ts';
import { commitName } from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { prefetch } from '../util/prefetch.ts';

/*
 * The commit records of a repository. Listings can be old: those of some object stores lag behind for single names, and
 * a program that copies repositories may put yesterday's snapshots beside today's packs. A snapshot that is not listed
 * looks deleted, and a compaction would remove its packs. Commit records have consecutive numbers, so that those that are
 * not listed are found by their names; and they say for which snapshots to look in the same way.
 */

/** What the commit records say. */
export interface CommitLog {
  /** The highest number of a record; 0 if there are none. */
  readonly end: number;
  /** The numbers of the records that were found, in no order. */
  readonly numbers: readonly number[];
  /** The snapshots that were committed and not reclaimed since. */
  readonly snapshotIds: ReadonlySet<string>;
  /** Those that cannot be read. */
  readonly damaged: ReadonlyMap<number, LdmError>;
}

/** A process that has lost its lock takes its record back, which leaves a gap. */
const GAP_MAX = 2;

/** Reads all commit records. `listed`: the numbers of those that a listing has. */
export async function readCommitLog(place: FilePlace, listed: readonly number[]): Promise<CommitLog> {
  const first = listed.length === 0 ? 1 : Math.min(...listed);
  const end = await findEnd(place, Math.max(0, ...listed));
  const numbers = new Set(listed);
  const snapshotIds = new Set<string>();
  const damaged = new Map<number, LdmError>();
  for await (const [number, reading] of prefetch(countDown(end, first), place.backend.readsAtOnce, async (each) =>
    readCommit(place, each),
  )) {
    try {
      const record = await reading;
      if (record === undefined) continue;
      numbers.add(number);
      for (const id of record.snapshotIds) snapshotIds.add(id);
      if (record.isWhole) break;
    } catch (error) {
      if (!isDamage(error)) throw error;
      numbers.add(number);
      damaged.set(number, error);
    }
  }
  return { end, numbers: [...numbers], snapshotIds, damaged };
}

/** Returns the ids in the records after that of a number. */
export async function committedAfter(place: FilePlace, end: number): Promise<string[]> {
  const ids: string[] = [];
  const last = await findEnd(place, end);
  for (let number = end + 1; number <= last; number += 1) {
    ids.push(...((await readCommit(place, number))?.snapshotIds ?? []));
  }
  return ids;
}

/** @throws CorruptDataError */
async function readCommit({ backend, seals }: FilePlace, number: number): Promise<CommitRecord | undefined> {
  const name = commitName(number);
  try {
    const sealed = await readSurely(backend, name, async (from) => withoutDigest(await from.read(name)));
    const record = decodeCommitRecord(seals.open('commits', sealed));
    if (record.number !== number) throw new CorruptDataError(`it is the commit record ${record.number}`);
    return record;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(`${name}: ${error.message}`, { cause: error });
  }
}

/** The digest at the end of the file is that of the stored bytes, so that they can be verified without a key. */
function withoutDigest(bytes: Uint8Array): Uint8Array {
  const sealed = bytes.subarray(0, Math.max(0, bytes.length - FILE_ID_BYTES));
  if (sha256(sealed) === Buffer.from(bytes.subarray(sealed.length)).toString('hex')) return sealed;
  throw new CorruptDataError('the content is damaged (its digest is wrong)');
}

/** Returns the highest number in use, by asking for the names after a number. */
async function findEnd({ backend }: FilePlace, from: number): Promise<number> {
  for (let end = from; ;) {
    const next = Array.from({ length: GAP_MAX + 1 }, (_, index) => end + 1 + index);
    const sizes = await backend.sizesOf(next.map((number) => commitName(number)));
    const found = next.filter((number) => sizes.has(commitName(number)));
    if (found.length === 0) return end;
    end = Math.max(...found);
  }
}

function* countDown(from: number, to: number): Generator<number> {
  for (let number = from; number >= to; number -= 1) yield number;
}

import { readSurely } from '../backend/sure-reading.ts';
import { sha256 } from '../crypto/sha256.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import type { LdmError } from '../errors.ts';
import { decodeCommitRecord } from '../format/commit-record.ts';
import type { CommitRecord } from '../format/commit-record.ts';
import { FILE_ID_BYTES } from '../format/constants.ts';
import { COMMITS_NAME, commitName } from '../format/layout.ts';
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
  /** The number of the record that took the place of all before it; 0 if none did: no snapshot was ever reclaimed. */
  readonly start: number;
  /** The highest number of a record; 0 if there are none. */
  readonly end: number;
  /** The numbers of the records that were found, in no order. */
  readonly numbers: readonly number[];
  /** The snapshots that were committed and not reclaimed since. */
  readonly snapshotIds: ReadonlySet<string>;
  /** The names of those that cannot be read. */
  readonly damaged: ReadonlyMap<string, LdmError>;
}

/** A process that has lost its lock takes its record back, which leaves a gap. */
const GAP_MAX = 2;

/** Reads all commit records. `listed`: the numbers of those that a listing has. */
export async function readCommitLog(place: FilePlace, listed: readonly number[]): Promise<CommitLog> {
  const log = new LogReading(place, listed);
  await log.read();
  return log;
}

class LogReading implements CommitLog {
  start = 0;
  end = 0;
  readonly damaged: Map<string, LdmError> = new Map();
  readonly snapshotIds: Set<string> = new Set();
  readonly #place: FilePlace;
  readonly #listed: readonly number[];
  readonly #found: Set<number>;
  /** The highest number of a record that takes the place of all before it; 0 if there is none. */
  #lastWhole = 0;
  /** What was asked for before it was known to be needed, so that it is one wait for another machine. */
  readonly #endsAhead = new Map<number, Promise<number>>();
  readonly #recordsAhead = new Map<number, Promise<CommitRecord | undefined>>();

  constructor(place: FilePlace, listed: readonly number[]) {
    this.#place = place;
    this.#listed = listed;
    this.#found = new Set(listed);
  }

  get numbers(): readonly number[] {
    return [...this.#found];
  }

  async read(): Promise<void> {
    this.#askAhead();
    const first = (this.start = await this.#readFirst());
    await this.#findEnd(first);
    await this.#readAll(countDown(this.end, Math.max(1, first)));
    const strays = this.#listed.filter((number) => number > this.end);
    // A hostile client may have added these. Their ids are looked up, but they never replace other records.
    await this.#readAll(strays, true);
    // A process that lost its lock may have put an older `index/commits` back, after the record that it names was removed.
    const isFirstMissing = first === 0 ? strays.length > 0 : this.start === first && !this.#found.has(first);
    if (!isFirstMissing) return;
    this.#miss(first === 0 ? COMMITS_NAME : commitName(first));
    // Otherwise, the next record would have a number that was used before.
    if (this.#lastWhole > 0) await this.#findEnd((this.start = this.#lastWhole));
  }

  /** Nearly always, the listing has all records, and all of them are needed. */
  #askAhead(): void {
    const { readsAtOnce } = this.#place.backend;
    if (readsAtOnce === 1 || this.#listed.length === 0) return;
    const end = endOfRun(
      this.#listed,
      this.#listed.reduce((least, each) => Math.min(least, each)),
    );
    this.#endsAhead.set(end, askForEnd(this.#place, end));
    const newest = this.#listed.filter((number) => number <= end).sort((a, b) => b - a);
    // Beside them, `index/commits` is read.
    for (const number of newest.slice(0, readsAtOnce - 1))
      this.#recordsAhead.set(number, readCommit(this.#place, number));
    // What fails fails again where it is needed.
    for (const asked of [...this.#endsAhead.values(), ...this.#recordsAhead.values()]) asked.catch(() => undefined);
  }

  async #readFirst(): Promise<number> {
    try {
      return await readStart(this.#place);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.damaged.set(COMMITS_NAME, error);
      return 0;
    }
  }

  /** Asks for names where the listing ends, since it may lack some. */
  async #findEnd(first: number): Promise<void> {
    for (this.end = first; ;) {
      const end = endOfRun(this.#listed, this.end);
      this.end = await (this.#endsAhead.get(end) ?? askForEnd(this.#place, end));
      if (this.end === end) return;
    }
  }

  async #readAll(numbers: Iterable<number>, areStrays = false): Promise<void> {
    const read = async (number: number): Promise<CommitRecord | undefined> =>
      this.#recordsAhead.get(number) ?? readCommit(this.#place, number);
    for await (const [number, reading] of prefetch(numbers, this.#place.backend.readsAtOnce, read)) {
      try {
        const record = await reading;
        if (record === undefined) {
          this.#found.delete(number);
          continue;
        }
        this.#found.add(number);
        for (const id of record.snapshotIds) this.snapshotIds.add(id);
        if (!record.isWhole) continue;
        this.#lastWhole = Math.max(this.#lastWhole, number);
        if (areStrays) continue;
        this.start = number;
        return;
      } catch (error) {
        if (!isDamage(error)) throw error;
        this.#found.add(number);
        this.damaged.set(commitName(number), error);
      }
    }
  }

  #miss(name: string): void {
    if (!this.damaged.has(name)) this.damaged.set(name, new CorruptDataError(`${name} is missing`));
  }
}

/** Numbers of records, as in `CommitLog`. */
export type CommitEnds = { readonly start: number; readonly last: number };

/**
 * Returns the highest number in use, and the one in `index/commits`. Records below that are never read, and a listing that
 * lags behind, or that has records of an interrupted removal, may end below it. If `index/commits` is damaged, `check`
 * reports it and compactions stop, so only the listing counts then: a commit must not fail for that.
 */
export async function lastCommitIn(place: FilePlace, listedLast: number): Promise<CommitEnds> {
  const start = await readStart(place).catch((error: unknown) => {
    if (!isDamage(error)) throw error;
    return 0;
  });
  return { start, last: start <= listedLast ? listedLast : await askForEnd(place, start) };
}

/** Returns the number of the record that took the place of all before it; 0 if there is none. */
export async function readStart(place: FilePlace): Promise<number> {
  return (await readRecord(place, COMMITS_NAME))?.number ?? 0;
}

/** Returns the ids in the records after that of a number. */
export async function committedAfter(place: FilePlace, end: number): Promise<string[]> {
  const ids: string[] = [];
  const last = await askForEnd(place, end);
  for (let number = end + 1; number <= last; number += 1) {
    ids.push(...((await readCommit(place, number))?.snapshotIds ?? []));
  }
  return ids;
}

/** Returns the highest of these numbers that follows on a number, with gaps that records taken back may leave. */
export function endOfRun(numbers: readonly number[], from: number): number {
  let end = from;
  for (const number of numbers.toSorted((a, b) => a - b)) {
    if (number > end && number <= end + GAP_MAX + 1) end = number;
  }
  return end;
}

/** Returns undefined if there is none. @throws CorruptDataError */
export async function readCommit(place: FilePlace, number: number): Promise<CommitRecord | undefined> {
  const name = commitName(number);
  const record = await readRecord(place, name);
  if (record === undefined || record.number === number) return record;
  throw new CorruptDataError(`${name}: it is the commit record ${record.number}`);
}

/** @throws CorruptDataError */
async function readRecord({ backend, seals }: FilePlace, name: string): Promise<CommitRecord | undefined> {
  // There is none before anything was reclaimed, so another machine is asked for both at once.
  const sizing = name === COMMITS_NAME && backend.readsAtOnce > 1 ? backend.sizeOf(name) : undefined;
  sizing?.catch(() => undefined);
  try {
    return await readSurely(backend, name, async (from) => openCommitRecord(await from.read(name), seals), sizing);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(`${name}: ${error.message}`, { cause: error });
  }
}

/** @throws CorruptDataError */
export function openCommitRecord(bytes: Uint8Array, seals: Seals): CommitRecord {
  return decodeCommitRecord(seals.open('commits', withoutDigest(bytes)));
}

/** The digest at the end of the file is that of the stored bytes, so that they can be verified without a key. */
function withoutDigest(bytes: Uint8Array): Uint8Array {
  const sealed = bytes.subarray(0, Math.max(0, bytes.length - FILE_ID_BYTES));
  if (sha256(sealed) === Buffer.from(bytes.subarray(sealed.length)).toString('hex')) return sealed;
  throw new CorruptDataError('the content is damaged (its digest is wrong)');
}

/** Returns the highest number in use, by asking for the names after a number. */
async function askForEnd({ backend }: FilePlace, from: number): Promise<number> {
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

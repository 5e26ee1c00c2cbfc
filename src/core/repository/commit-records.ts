import type { Verify } from '../backend/backend.ts';
import { UNVERIFIED } from '../backend/publication.ts';
import { sha256 } from '../crypto/sha256.ts';
import { BackendError } from '../errors.ts';
import { encodeCommitRecord } from '../format/commit-record.ts';
import type { CommitRecord } from '../format/commit-record.ts';
import { commitName } from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { lastCommitIn } from './commit-log.ts';
import type { CommitEnds, CommitLog } from './commit-log.ts';
import { CommitMerge } from './commit-merge.ts';
import type { DurableOrder } from './durable-order.ts';
import { commitNumbersOf, idsOf, lastCommitOf } from './listing.ts';
import { optionalNames } from './own-listing.ts';
import { stageFile } from './staging.ts';

/** Writes commit records, which `readCommitLog` reads. */
export class CommitRecords {
  readonly #place: FilePlace;
  readonly #order: DurableOrder;
  readonly #assertLocked: Verify;
  /** The highest number that is known to be in use. */
  #last: number | undefined;
  /** Once `#last` is not only what a listing had. */
  #sure: Promise<CommitEnds> | undefined;

  /** The snapshots that were there before the first record. */
  #earlier: Promise<readonly string[]> | undefined;

  /** The number of the last record that this process has written, 0 if there is none, and the snapshots in its records. */
  readonly written: { number: number; readonly snapshotIds: string[] } = { number: 0, snapshotIds: [] };

  constructor(place: FilePlace, order: DurableOrder, assertLocked: Verify) {
    this.#place = place;
    this.#order = order;
    this.#assertLocked = assertLocked;
  }

  /** Tells the numbers that a listing has, which saves another listing. */
  saw(number: number): void {
    this.#last = Math.max(this.#last ?? 0, number);
  }

  /**
   * Records that snapshots were committed. The first record has those that were there before, too: an earlier build has
   * left no records of them.
   */
  async record(snapshotIds: readonly string[]): Promise<void> {
    await this.findLast();
    const before = this.#last === 0 ? await this.#listEarlier() : [];
    await this.#publish({ isWhole: false, snapshotIds: [...new Set([...snapshotIds, ...before])] });
  }

  /** Replaces all records of a log by one with these snapshots. Needs the exclusive lock. */
  async merge(log: CommitLog, snapshotIds: readonly string[]): Promise<void> {
    const merge = await this.prepareMerge(log, snapshotIds);
    try {
      await this.#order.removeInTurn([await this.publishMerge(merge)], this.#assertLocked, true);
    } finally {
      await merge.discard();
    }
  }

  /** Writes what `publishMerge` needs. Discard the result, whether it is published or not. */
  async prepareMerge(log: CommitLog, snapshotIds: readonly string[]): Promise<CommitMerge> {
    const encode = (record: CommitRecord): Uint8Array => this.#encode(record);
    const made = { backend: this.#place.backend, order: this.#order, assertLocked: this.#assertLocked, encode };
    const merge = new CommitMerge({ ...made, log, snapshotIds });
    await merge.prepare();
    return merge;
  }

  /** Returns the names of the records that are to go next. The lock was verified last. */
  async publishMerge(merge: CommitMerge): Promise<readonly string[]> {
    const { record, old } = await merge.publish();
    const { number, snapshotIds } = record;
    this.#last = this.written.number = number;
    this.#sure = Promise.resolve({ start: number, last: number });
    this.written.snapshotIds.push(...snapshotIds);
    return old;
  }

  /**
   * The lock is verified right before the name appears and right after: if others have reclaimed one of the snapshots in
   * between, the record would call it lost. On another machine, the look after the commit was the one before: another one
   * would be a wait more, and this process may be suspended after each of them.
   */
  async #publish(record: Omit<CommitRecord, 'number'>): Promise<void> {
    for (;;) {
      const number = (this.#last = (this.#last ?? 0) + 1);
      const name = commitName(number);
      try {
        const file = await stageFile(this.#place.backend, async (append) =>
          append(this.#encode({ ...record, number })),
        );
        const before = this.#order.isFar ? UNVERIFIED : this.#assertLocked;
        await this.#order.publishHeld(name, file, { verify: this.#assertLocked, before, isNew: true });
      } catch (error) {
        if (error instanceof BackendError && error.kind === 'exists') continue;
        throw error;
      }
      this.written.number = number;
      this.written.snapshotIds.push(...record.snapshotIds);
      return;
    }
  }

  #encode(record: CommitRecord): Uint8Array {
    const sealed = this.#place.seals.seal('commits', encodeCommitRecord(record));
    return Buffer.concat([sealed, Buffer.from(sha256(sealed), 'hex')]);
  }

  /**
   * Finds the number of the last record, which `record` needs, and of the one that took the place of all before it. Asks only
   * once: nothing replaces the records while this process has its lock.
   */
  async findLast(): Promise<CommitEnds> {
    this.#sure ??= this.#askLast();
    const found = await this.#sure.catch((error: unknown) => {
      this.#sure = undefined;
      throw error;
    });
    this.#last = Math.max(this.#last ?? 0, found.last);
    return { start: found.start, last: this.#last };
  }

  async #askLast(): Promise<CommitEnds> {
    const last = this.#last ?? lastCommitOf(commitNumbersOf(await optionalNames(this.#place.backend, 'index')));
    // Listed beside the question: later, it would be a wait. What others commit meanwhile has records of its own.
    if (last === 0) this.#listEarlier().catch(() => undefined);
    return await lastCommitIn(this.#place, last);
  }

  async #listEarlier(): Promise<readonly string[]> {
    this.#earlier ??= optionalNames(this.#place.backend, 'snapshots').then(idsOf);
    return await this.#earlier;
  }
}

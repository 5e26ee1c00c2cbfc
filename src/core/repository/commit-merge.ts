import type { StagedFile, Verify } from '../backend/backend.ts';
import { BackendError } from '../errors.ts';
import type { CommitRecord } from '../format/commit-record.ts';
import { COMMITS_NAME, commitName } from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import type { CommitLog } from './commit-log.ts';
import type { DurableOrder } from './durable-order.ts';
import { prepareFile } from './staging.ts';

interface CommitMergeOptions {
  readonly backend: FilePlace['backend'];
  readonly order: DurableOrder;
  readonly assertLocked: Verify;
  readonly encode: (record: CommitRecord) => Uint8Array;
  readonly log: CommitLog;
  readonly snapshotIds: readonly string[];
}

/**
 * Replaces all records of a log by one with these snapshots. It is written before it is needed, so that a full disk shows
 * before anything is condemned: a removal that stops halfway returns no space.
 */
export class CommitMerge {
  readonly #given: CommitMergeOptions;
  #number: number;
  /** Those without a final name: the record, and then the file that names it. */
  #staged: StagedFile[] = [];

  constructor(given: CommitMergeOptions) {
    this.#given = given;
    this.#number = given.log.end + 1;
  }

  /** Writes the record, and the file that names it, under temporary names. */
  async prepare(): Promise<void> {
    const { backend, encode } = this.#given;
    const record = { number: this.#number, isWhole: true };
    try {
      const contents = [this.#given.snapshotIds.toSorted(), []].map((ids) => encode({ ...record, snapshotIds: ids }));
      const preparing = contents.map(async (bytes) => prepareFile(backend, bytes));
      const outcomes = await Promise.allSettled(preparing);
      this.#staged = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      for (const each of outcomes) if (each.status === 'rejected') throw each.reason;
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  /** Discards what has no final name yet. */
  async discard(): Promise<void> {
    for (const file of this.#staged.splice(0)) await file.discard();
  }

  /** Needs the exclusive lock, which is verified last. Returns the record, and the names of those that are to go. */
  async publish(): Promise<{ readonly record: CommitRecord; readonly old: readonly string[] }> {
    const { order, assertLocked, log, snapshotIds } = this.#given;
    while (!(await this.#publishWhole())) {
      await this.discard();
      this.#number += 1;
      await this.prepare();
    }
    // On another machine, the look after the record is the one before this, as in `CommitRecords`.
    const before = order.isFar ? async (): Promise<void> => undefined : assertLocked;
    await order.publishHeld(COMMITS_NAME, this.#staged.shift()!, { verify: assertLocked, before, stays: true });
    const old = log.numbers.filter((each) => each !== this.#number).map((each) => commitName(each));
    return { record: { number: this.#number, isWhole: true, snapshotIds }, old };
  }

  /** Returns false if another process has used the number meanwhile. */
  async #publishWhole(): Promise<boolean> {
    const { order, assertLocked } = this.#given;
    const name = commitName(this.#number);
    try {
      await order.publishHeld(name, this.#staged.shift()!, { verify: assertLocked, isNew: true });
      return true;
    } catch (error) {
      if (error instanceof BackendError && error.kind === 'exists') return false;
      throw error;
    }
  }
}

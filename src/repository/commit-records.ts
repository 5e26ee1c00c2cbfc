import type { Verify } from '../backend/backend.ts';
import { sha256 } from '../crypto/sha256.ts';
import { BackendError } from '../errors.ts';
import { encodeCommitRecord } from '../format/commit-record.ts';
import type { CommitRecord } from '../format/commit-record.ts';
import { commitName, parseCommitName } from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import type { CommitLog } from './commit-log.ts';
import type { DurableOrder } from './durable-order.ts';
import { listOptional } from './listing.ts';

/** Writes commit records, which `readCommitLog` reads. */
export class CommitRecords {
  readonly #place: FilePlace;
  readonly #order: DurableOrder;
  readonly #assertLocked: Verify;
  /** The highest number that is known to be in use. */
  #last: number | undefined;

  constructor(place: FilePlace, order: DurableOrder, assertLocked: Verify) {
    this.#place = place;
    this.#order = order;
    this.#assertLocked = assertLocked;
  }

  /** Tells the highest number that a listing has, which saves another listing. */
  saw(number: number): void {
    this.#last = Math.max(this.#last ?? 0, number);
  }

  /** Records that snapshots were committed. */
  async record(snapshotIds: readonly string[]): Promise<void> {
    this.#last ??= await this.#listLast();
    await this.#publish({ isWhole: false, snapshotIds });
  }

  /**
   * Replaces all records of a log by one with these snapshots. Needs the exclusive lock. The record before it stays, unless
   * `replacesAll`: if a listing lacks the new one, the old one shows where to look.
   */
  async merge({ end, numbers }: CommitLog, snapshotIds: readonly string[], replacesAll = false): Promise<void> {
    this.saw(end);
    await this.#publish({ isWhole: true, snapshotIds: snapshotIds.toSorted() });
    const old = numbers.filter((number) => number !== end || replacesAll).map((number) => commitName(number));
    await this.#order.remove(old, this.#assertLocked);
  }

  /**
   * The lock is verified right before the name appears and right after: if others have reclaimed one of the snapshots in
   * between, the record would call it lost.
   */
  async #publish(record: Omit<CommitRecord, 'number'>): Promise<void> {
    for (;;) {
      const number = (this.#last = (this.#last ?? 0) + 1);
      const name = commitName(number);
      const sealed = this.#place.seals.seal('commits', encodeCommitRecord({ ...record, number }));
      const digest = Buffer.from(sha256(sealed), 'hex');
      try {
        await this.#order.publishNew(name, Buffer.concat([sealed, digest]), this.#assertLocked);
      } catch (error) {
        if (error instanceof BackendError && error.kind === 'exists') continue;
        throw error;
      }
      return await this.#order.takeBackUnless(this.#assertLocked, name);
    }
  }

  async #listLast(): Promise<number> {
    const files = await listOptional(this.#place.backend, 'index');
    return Math.max(0, ...files.map(({ name }) => parseCommitName(name) ?? 0));
  }
}

import { BackendError, RefusedError } from '../../core/errors.ts';
import type { PackContents } from '../../core/format/pack.ts';
import { wasReadSound } from '../../core/damage/pack-check.ts';
import { bytesWanted } from '../../core/damage/pack-selector.ts';
import type { PartOfData } from '../../core/damage/pack-selector.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Notice } from '../../core/session/notices.ts';
import type { PackReport } from '../../core/store/pack-report.ts';
import { publishVerified, readVerified, removeVerified, verifiedKeyOf } from '../../core/damage/verified-records.ts';

/** Which packs have to be verified, and how many of them now. */
interface AgeOptions {
  readonly maxAgeMs: number;
  /** Reads no more than about this. */
  readonly limit: PartOfData | undefined;
  /** How much is verified before that is recorded; later, a sixteenth of all that was verified, if that is more. */
  readonly recordEveryBytes: number;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
  readonly onNotice: ((notice: Notice) => void) | undefined;
}

/** What a check with a maximum age leaves to be done. */
export interface VerificationLeft {
  /** Packs that no record says were verified within that time, damaged ones included. */
  readonly packs: number;
  readonly bytes: number;
  readonly maxAgeMs: number;
  /** Whether the next check knows what this one has verified. */
  readonly isRecorded: boolean;
}

interface AgedPack {
  readonly id: string;
  readonly sizeBytes: number;
  /** One for each copy that can be reached. */
  readonly keys: readonly string[];
  /** When all of these were verified last. -Infinity if one of them never was. */
  readonly verifiedMs: number;
}

/** An interruption loses this part of the work, and there are few records. */
const STEP_SHARE = 1 / 16;

/**
 * Chooses the packs that were not verified for longest, and records which ones were. The records are in the repository,
 * so machines share them. What is verified is recorded in steps; at the end, one record takes the place of all.
 */
export class PackAges {
  readonly #repository: Repository;
  readonly #options: AgeOptions;
  readonly #packs: ReadonlyMap<string, AgedPack>;
  readonly #due: readonly AgedPack[];
  readonly #chosen: ReadonlySet<string>;
  readonly #soundIds = new Set<string>();
  readonly #damagedKeys = new Set<string>();
  #step = new Map<string, number>();
  #stepMs: number;
  #stepBytes = 0;
  #totalBytes = 0;
  #failure: string | undefined;

  private constructor(repository: Repository, options: AgeOptions, packs: readonly AgedPack[]) {
    this.#repository = repository;
    this.#options = options;
    this.#packs = new Map(packs.map((pack) => [pack.id, pack]));
    this.#stepMs = options.now();
    const oldestMs = this.#stepMs - options.maxAgeMs;
    this.#due = packs.filter(({ verifiedMs }) => verifiedMs < oldestMs).sort(byAge);
    this.#chosen = chooseOldest(this.#due, options.limit, packs);
  }

  static async open(
    repository: Repository,
    packs: ReadonlyMap<string, PackContents>,
    options: AgeOptions,
  ): Promise<PackAges> {
    const { now, onNotice } = options;
    const { times } = await readVerified(repository, now(), (name, reason) =>
      onNotice?.({ kind: 'verified-record-damaged', name, reason }),
    );
    const aged: AgedPack[] = [];
    for (const { id, sizeBytes } of packs.values()) {
      const keys = (await repository.packs.copyNamesOf(id)).map(verifiedKeyOf);
      const verifiedMs = keys.map((key) => times.get(key) ?? -Infinity).sort((a, b) => a - b)[0] ?? -Infinity;
      aged.push({ id, sizeBytes, keys, verifiedMs });
    }
    return new PackAges(repository, options, aged);
  }

  /** Whether a pack is read now. */
  readonly isRead = ({ id }: Pick<PackContents, 'id'>): boolean => this.#chosen.has(id);

  /** Returns the packs in the order in which they should be verified: an interruption leaves the youngest. */
  sort(packs: Iterable<PackContents>): PackContents[] {
    const ageOf = ({ id }: PackContents): number => this.#packs.get(id)?.verifiedMs ?? -Infinity;
    return [...packs].sort((a, b) => compare(ageOf(a), ageOf(b)));
  }

  readonly onReport = async (report: PackReport): Promise<void> => {
    if (!this.#chosen.has(report.pack.id)) return;
    const { keys } = this.#packs.get(report.pack.id)!;
    if (wasReadSound(report)) {
      this.#soundIds.add(report.pack.id);
      // When the step began: if the clock is put forward meanwhile, the pack only looks older.
      for (const key of keys) this.#step.set(key, this.#stepMs);
    } else for (const key of keys) this.#damagedKeys.add(key);
    this.#stepBytes += report.bytesRead;
    this.#totalBytes += report.bytesRead;
    const stepBytes = Math.max(this.#options.recordEveryBytes, this.#totalBytes * STEP_SHARE);
    if (this.#stepBytes >= stepBytes) await this.saveStep();
  };

  /** Records what was verified since the last time. */
  async saveStep(): Promise<void> {
    const step = this.#step;
    this.#step = new Map();
    this.#stepMs = this.#options.now();
    this.#stepBytes = 0;
    await this.#record(async () => publishVerified(this.#repository, step));
  }

  /** Replaces all records by one, without what is gone or damaged. Returns what remains to be verified. */
  async finish(): Promise<VerificationLeft> {
    await this.#record(async () => this.#merge());
    const left = this.#due.filter(({ id }) => !this.#soundIds.has(id));
    return {
      packs: left.length,
      bytes: left.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
      maxAgeMs: this.#options.maxAgeMs,
      isRecorded: this.#failure === undefined,
    };
  }

  async #merge(): Promise<void> {
    // Read again: another check may have found since that a pack is damaged.
    const found = await readVerified(this.#repository, this.#options.now());
    const times = new Map([...found.times].filter(([key]) => this.#mayStay(key)));
    const dropped = found.times.size - times.size + found.futureCount;
    for (const [key, timeMs] of this.#step) times.set(key, timeMs);
    if (this.#step.size + dropped === 0 && !found.areDamaged) return;
    await publishVerified(this.#repository, times);
    await removeVerified(this.#repository, found.names);
  }

  /** Of a group that cannot be reached, it is not known which copies are gone. */
  get #mayStay(): (key: string) => boolean {
    const isDamaged = (key: string): boolean => this.#damagedKeys.has(key);
    if (this.#repository.groups?.all.some(({ isOnline }) => !isOnline) === true) return (key) => !isDamaged(key);
    const present = new Set([...this.#packs.values()].flatMap(({ keys }) => keys));
    return (key) => present.has(key) && !isDamaged(key);
  }

  /** The check itself does not need the record, so what prevents it is only reported, once. */
  async #record(write: () => Promise<void>): Promise<void> {
    if (this.#failure !== undefined) return;
    try {
      if (this.#repository.role === 'read') throw new RefusedError('the role of the key is read');
      await write();
    } catch (error) {
      if (!(error instanceof BackendError) && !(error instanceof RefusedError)) throw error;
      // Two packs are verified at a time.
      if (this.#failure !== undefined) return;
      this.#failure = error.message;
      this.#options.onNotice?.({ kind: 'verification-not-recorded', reason: error.message });
    }
  }
}

function chooseOldest(
  due: readonly AgedPack[],
  limit: PartOfData | undefined,
  packs: readonly AgedPack[],
): ReadonlySet<string> {
  if (limit === undefined) return new Set(due.map(({ id }) => id));
  const wanted = bytesWanted(limit, new Map(packs.map(({ id, sizeBytes }) => [id, sizeBytes])));
  const chosen = new Set<string>();
  let bytes = 0;
  for (const { id, sizeBytes } of due) {
    if (bytes >= wanted) break;
    chosen.add(id);
    bytes += sizeBytes;
  }
  return chosen;
}

function byAge(a: AgedPack, b: AgedPack): number {
  return compare(a.verifiedMs, b.verifiedMs);
}

/** A difference of infinite numbers would be none. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

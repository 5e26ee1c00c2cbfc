import type { Verify } from '../backend/backend.ts';
import { BackendError, isDiskFull, isOffline, isWriteRefused } from '../errors.ts';
import { baseName } from '../format/layout.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { Group } from './group.ts';
import { rankGroups } from './placement.ts';

/** Writes new packs to as many groups as copies are wanted, and makes them durable. */
export class PackPlacer {
  readonly #location: string;
  readonly #groups: readonly Group[];
  readonly #copies: number;
  /** The groups that have packs which may not be durable yet. */
  readonly #pending = new Map<string, readonly Group[]>();
  #shortCount = 0;

  constructor(location: string, groups: readonly Group[], copies: number) {
    this.#location = location;
    this.#groups = groups;
    this.#copies = copies;
  }

  /** How many packs have fewer copies than wanted, because too few groups could take them. */
  get shortCount(): number {
    return this.#shortCount;
  }

  /**
   * Writes a pack to the first groups that take it. Returns them: at least one.
   * @throws BackendError of the kind `full` or `read-only` if none takes it
   */
  async place(name: string, pieces: readonly Uint8Array[], verify?: Verify, isNew?: boolean): Promise<Group[]> {
    const writable = this.#groups.filter((group) => group.isWritable);
    const ranked = rankGroups(baseName(name), writable, ({ entry }) => entry);
    const stored: Group[] = [];
    let triedCount = 0;
    let failure: BackendError | undefined;
    // A group that went offline meanwhile may have been left alone by a barrier, which did not know of this pack.
    const online = (): Group[] => stored.filter(({ isOnline }) => isOnline);
    while (online().length < this.#copies && triedCount < ranked.length) {
      const batch = ranked.slice(triedCount, triedCount + this.#copies - online().length);
      triedCount += batch.length;
      const outcomes = await Promise.allSettled(
        batch.map(async (group) => group.write(name, pieces, verify, isNew).then(() => group)),
      );
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') stored.push(outcome.value);
        else failure = worstOf(failure, outcome.reason);
      }
    }
    const homes = online();
    if (homes.length === 0) throw this.#noRoom(failure);
    if (homes.length < this.#copies) this.#shortCount += 1;
    this.#pending.set(name, homes);
    return homes;
  }

  /**
   * Makes durable what was written before. A group that went offline may fail to do that if each pack that was written to
   * it is durable in another group. Then it is left alone until the repository is opened again. Packs that are being
   * written meanwhile are the business of a later barrier.
   */
  async barrier(): Promise<void> {
    const written = [...this.#pending];
    const failures = new Map<Group, unknown>();
    await mapConcurrently(this.#groups, this.#groups.length, async (group) =>
      group.barrier().catch((error: unknown) => {
        if (group.isOnline) throw error;
        failures.set(group, error);
      }),
    );
    // What was written to a group that is offline counts as lost, whenever that was noticed.
    const isDurableIn = (group: Group): boolean => group.isOnline && !failures.has(group);
    for (const [, stored] of written) {
      if (!stored.some(isDurableIn)) throw failures.get(stored[0]!) ?? stored[0]!.notDurableError();
    }
    for (const [group, error] of failures) if (!group.giveUpChanges()) throw error;
    for (const [name, stored] of written) {
      if (stored.length >= this.#copies && !stored.every(isDurableIn)) this.#shortCount += 1;
      this.#pending.delete(name);
    }
  }

  #noRoom(cause: BackendError | undefined): BackendError {
    const states = this.#groups.map(({ entry, isOnline, isFull, writeFailure }) => {
      const state = isFull ? 'full' : writeFailure === undefined ? entry.state : `not writable (${writeFailure})`;
      return `${entry.name} is ${isOnline ? state : 'offline'}`;
    });
    const kind = this.#groups.some(({ isFull }) => isFull) ? 'full' : 'read-only';
    const hint = 'Add another group, or make one of these available; then run the command again.';
    const message = `repository ${this.#location}: no group can take a new pack: ${states.join(', ')}`;
    return new BackendError(message, { kind, hint, cause });
  }
}

/** Returns the failure to report. Throws one that is no reason to try another group. */
function worstOf(known: BackendError | undefined, error: unknown): BackendError {
  if (!isDiskFull(error) && !isOffline(error) && !isWriteRefused(error)) throw error;
  return known === undefined || isDiskFull(error) ? error : known;
}

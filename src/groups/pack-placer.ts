import type { Verify } from '../backend/backend.ts';
import { BackendError, isDiskFull, isOffline } from '../errors.ts';
import { baseName } from '../format/layout.ts';
import type { Group } from './group.ts';
import { rankGroups } from './placement.ts';

/** A pack that may not be durable yet. */
interface PlacedPack {
  readonly stored: readonly Group[];
  /** With the groups where writing it has failed: its name may have appeared there nevertheless. */
  readonly tried: readonly Group[];
}

/** Writes new packs to as many groups as copies are wanted, and makes them durable. */
export class PackPlacer {
  readonly #location: string;
  readonly #groups: readonly Group[];
  readonly #copies: number;
  readonly #pending = new Map<string, PlacedPack>();
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
    const missing = (): number => this.#copies - stored.filter(({ isOnline }) => isOnline).length;
    while (missing() > 0 && triedCount < ranked.length) {
      const batch = ranked.slice(triedCount, triedCount + missing());
      triedCount += batch.length;
      const outcomes = await Promise.allSettled(
        batch.map(async (group) => group.write(name, pieces, verify, isNew).then(() => group)),
      );
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') stored.push(outcome.value);
        else failure = worstOf(failure, outcome.reason);
      }
    }
    const online = stored.filter(({ isOnline }) => isOnline);
    if (online.length === 0) throw this.#noRoom(failure);
    if (online.length < this.#copies) this.#shortCount += 1;
    this.#pending.set(name, { stored: online, tried: ranked.slice(0, triedCount) });
    return online;
  }

  /**
   * Makes everything durable. A group that went offline may fail to do that if each pack that was written to it is
   * durable in another group. Then it is left alone until the repository is opened again. Packs may be placed meanwhile:
   * those are left to the next barrier.
   */
  async barrier(): Promise<void> {
    const placed = [...this.#pending];
    const failed = await this.#makeDurable();
    for (const [group, error] of failed) {
      const packs = [...this.#pending.values()].filter(({ tried }) => tried.includes(group));
      const areElsewhere = packs.every(({ stored }) => stored.some(({ isOnline }) => isOnline));
      if (!areElsewhere || !group.giveUpChanges()) throw error;
    }
    for (const [name, { stored }] of placed) {
      if (stored.length >= this.#copies && stored.some((group) => failed.has(group))) this.#shortCount += 1;
      this.#pending.delete(name);
    }
  }

  /** Returns why groups have failed that are offline now. */
  async #makeDurable(): Promise<Map<Group, unknown>> {
    const outcomes = await Promise.allSettled(this.#groups.map(async (group) => group.barrier()));
    const failed = new Map<Group, unknown>();
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue;
      const group = this.#groups[index]!;
      if (group.isOnline) throw outcome.reason;
      failed.set(group, outcome.reason);
    }
    return failed;
  }

  #noRoom(cause: BackendError | undefined): BackendError {
    const states = this.#groups.map(({ entry, isOnline, isFull }) => {
      const state = isOnline ? (isFull ? 'full' : entry.state) : 'offline';
      return `${entry.name} is ${state}`;
    });
    const kind = this.#groups.some(({ isFull }) => isFull) ? 'full' : 'read-only';
    const hint = 'Add another group, or make one of these available; then run the command again.';
    const message = `repository ${this.#location}: no group can take a new pack: ${states.join(', ')}`;
    return new BackendError(message, { kind, hint, cause });
  }
}

/** Returns the failure to report. Throws one that is no reason to try another group. */
function worstOf(known: BackendError | undefined, error: unknown): BackendError {
  if (!isDiskFull(error) && !isOffline(error)) throw error;
  return known === undefined || isDiskFull(error) ? error : known;
}

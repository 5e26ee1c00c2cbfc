import { randomBytes } from 'node:crypto';
import type { NeededFiles } from '../repository/needed-files.ts';
import type { Repository } from '../repository/repository.ts';
import { RefusedError } from '../errors.ts';
import { packName, snapshotName } from '../format/layout.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { PackContents } from '../format/pack.ts';
import type { PackInfo } from '../ldm/pack-table.ts';

import type { OperationContext } from '../session/context.ts';
import { extensionOf } from '../session/extension.ts';
import type { OpenedState } from '../repository/opened-state.ts';

type AskSizes = Repository['lockedSizesOf'];
type PackSize = Pick<PackContents, 'id' | 'sizeBytes'>;

/** A pack is gone, or shorter than it should be. */
export class PackGoneError extends RefusedError {}

/** How many packs are drawn. With the lock and the parent, they fit into one burst of requests. */
const SAMPLE_COUNT = 12;

/** How many packs `lookFor` looks for: as many requests as a store of objects has in flight. */
const LOOKS_AT_ONCE = 16;

/** How a snapshot relies on a pack: itself, or only for chunks that a snapshot before it needs too. */
const ITSELF = 1;
const THROUGH_EARLIER = 2;

/** The packs that new snapshots rely on: existing packs with chunks they use, and packs written by this process. */
export class ReliedPacks {
  readonly #state: FilterState;
  readonly #stored: Repository['packs'];
  readonly #lockedSizesOf: AskSizes;
  readonly #canLockReturn: boolean;
  /** By pack index: `ITSELF` or `THROUGH_EARLIER`, or both. */
  readonly #reliance: Uint8Array;
  readonly #hasGroups: boolean;
  #earlierNames: readonly string[] = [];
  /** By pack index: whether the pack is condemned or gone. */
  readonly #isCondemned: Uint8Array;
  /** By pack index: whether the pack may be in a group that is offline. Undefined if none is. */
  readonly #isOffline: Uint8Array | undefined;
  readonly #own: PackSize[] = [];
  /** Ids of packs that were found under the lock. While it exists, none is removed. Empty where a lock can return. */
  readonly #found = new Set<string>();
  /** By pack index: what `lookFor` has asked. */
  readonly #looks = new Map<number, Promise<void>>();
  #offline: readonly PackSize[] = [];

  /** `condemnedIds`: packs that may be removed at any moment. `offlineIds`: those in no group that can be reached. */
  constructor(
    state: FilterState,
    repository: Pick<Repository, 'packs' | 'lockedSizesOf' | 'config' | 'groups'>,
    { condemnedIds, offlineIds }: { condemnedIds: ReadonlySet<string>; offlineIds: ReadonlySet<string> },
  ) {
    this.#state = state;
    this.#stored = repository.packs;
    this.#lockedSizesOf = async (names) => repository.lockedSizesOf(names);
    this.#canLockReturn = repository.config.isSingleWriter === true;
    this.#hasGroups = repository.groups !== undefined;
    let packCount = 0;
    state.packs.forEach((_, index) => {
      packCount = Math.max(packCount, index + 1);
    });
    this.#reliance = new Uint8Array(packCount);
    this.#isCondemned = new Uint8Array(packCount);
    this.#isOffline = offlineIds.size === 0 ? undefined : new Uint8Array(packCount);
    state.packs.forEach(({ id }, index) => {
      this.#isCondemned[index] = condemnedIds.has(id) ? 1 : 0;
      if (this.#isOffline !== undefined) this.#isOffline[index] = offlineIds.has(id) ? 1 : 0;
    });
  }

  /**
   * Names the snapshots that the new one is compared with. Under the lock, no compaction removes a chunk that an existing
   * snapshot needs, so their manifests are looked up instead of the packs with what they have in common with the new one:
   * these may be 3 million. Not where a lock proves less, nor with groups, each of which may lack its packs.
   */
  relyOn(snapshotIds: readonly string[]): void {
    if (!this.#canLockReturn && !this.#hasGroups) this.#earlierNames = snapshotIds.map((id) => snapshotName(id));
  }

  /**
   * Adds a pack by its index in the state. Returns false if it is condemned: its chunks must be stored again. `isEarlier`: one
   * of the earlier snapshots needs the same chunk.
   */
  rely(packIndex: number, isEarlier = false): boolean {
    if (this.#isCondemned[packIndex] === 1) return false;
    this.#reliance[packIndex]! |= isEarlier && this.#earlierNames.length > 0 ? THROUGH_EARLIER : ITSELF;
    return true;
  }

  /** Looks by name for a pack, by its index in the state. Nothing relies on it from now on if it is gone. */
  async lookFor(packIndex: number | undefined): Promise<void> {
    if (packIndex === undefined) return;
    if (!this.#looks.has(packIndex)) {
      const indexes = this.#nextUnknown(packIndex);
      const look = this.#distrustGone(indexes);
      for (const index of indexes) this.#looks.set(index, look);
    }
    await this.#looks.get(packIndex);
  }

  /** The pack and some after it, which were written with it and are likely to be needed next: one wait for all of them. */
  #nextUnknown(packIndex: number): number[] {
    const { packs } = this.#state;
    const end = Math.min(packIndex + LOOKS_AT_ONCE, this.#reliance.length);
    const indexes = Array.from({ length: end - packIndex }, (_, offset) => packIndex + offset);
    return indexes.filter((index) => packs.has(index) && !this.#looks.has(index));
  }

  async #distrustGone(indexes: readonly number[]): Promise<void> {
    const { packs } = this.#state;
    const { present, gone } = await this.#look(indexes.map((index) => packs.get(index)));
    for (const { id } of gone) this.#isCondemned[packs.find(id)!] = 1;
    if (!this.#canLockReturn) for (const id of present.keys()) this.#found.add(id);
  }

  /** Whether a pack, by its index in the state, may be in a group that was offline at the beginning. */
  isOffline(packIndex: number): boolean {
    return this.#isOffline?.[packIndex] === 1;
  }

  /** The packs that were there before and that a snapshot relies on. */
  relied(how: number = ITSELF | THROUGH_EARLIER): PackInfo[] {
    const relied: PackInfo[] = [];
    for (const [index, reliance] of this.#reliance.entries()) {
      if ((reliance & how) !== 0) relied.push(this.#state.packs.get(index));
    }
    return relied;
  }

  /** For a pack written by this process. */
  addOwn({ id, sizeBytes }: PackSize): void {
    this.#own.push({ id, sizeBytes });
  }

  /**
   * Throws RefusedError unless this process holds its lock, and every pack that was not found before exists with its full
   * size, or is needed only through an earlier snapshot that exists. A known pack may be in a group that is offline: what
   * is condemned there stays until it can be reached. What this process has written must be there.
   */
  async assertLockedAndPresent(): Promise<void> {
    if (!(await this.#assertPresent([...this.relied(ITSELF), ...this.#own, ...this.#sample()])))
      await this.#assertPresent(this.relied(THROUGH_EARLIER));
  }

  /** What `assertLockedAndPresent` looks for besides the lock. Undefined where the place of the lock has not all of it. */
  needs(): NeededFiles | undefined {
    return this.needsOfPacks([...this.relied(ITSELF), ...this.#own, ...this.#sample()], this.#earlierNames);
  }

  /** What `assertPacksPresent` looks for. */
  needsOfPacks(packs: readonly PackSize[], names: readonly string[] = []): NeededFiles | undefined {
    if (this.#canLockReturn || this.#hasGroups) return undefined;
    const wanted = packs.filter(({ id }) => !this.#found.has(id));
    const sizes = wanted.map(({ id, sizeBytes }) => [packName(id), sizeBytes] as const);
    const all = new Map([...names.map((name) => [name, 0] as const), ...sizes]);
    return { sizes: all, onMet: () => wanted.forEach(({ id }) => this.#found.add(id)) };
  }

  /** No compaction has removed packs needed through an earlier snapshot. But a disk, a program or a person may have lost some. */
  #sample(): PackInfo[] {
    let count = 0;
    for (const reliance of this.#reliance) if (reliance === THROUGH_EARLIER) count += 1;
    const draw = (_: unknown, each: number): number =>
      count <= SAMPLE_COUNT ? each : randomBytes(4).readUInt32BE() % count;
    const drawn = new Set(Array.from({ length: Math.min(SAMPLE_COUNT, count) }, draw));
    const packs: PackInfo[] = [];
    for (let index = 0, rank = 0; packs.length < drawn.size; index += 1) {
      if (this.#reliance[index] !== THROUGH_EARLIER) continue;
      if (drawn.has(rank)) packs.push(this.#state.packs.get(index));
      rank += 1;
    }
    return packs;
  }

  /** Returns whether the earlier snapshots exist. */
  async #assertPresent(packs: readonly PackSize[]): Promise<boolean> {
    const wanted = packs.filter(({ id }) => !this.#found.has(id));
    let areThere = true;
    // One call for the lock and everything else: each call to a remote place takes a round trip.
    const { present, gone } = await this.#look(wanted, async (names: readonly string[]) => {
      const sizes = await this.#lockedSizesOf([...this.#earlierNames, ...names]);
      areThere = this.#earlierNames.every((name) => sizes.has(name));
      return sizes;
    });
    const own = new Set(this.#own.map(({ id }) => id));
    const isOffline = ({ id }: PackSize): boolean => this.#stored.isPartlyOffline && !present.has(id) && !own.has(id);
    this.#offline = gone.filter(isOffline);
    this.#assertNone(gone.filter((pack) => !isOffline(pack)));
    if (!this.#canLockReturn) for (const id of present.keys()) this.#found.add(id);
    return areThere;
  }

  /** Packs that could not be looked for, by the last `assertLockedAndPresent`, because a group is offline. */
  get offline(): readonly PackSize[] {
    return this.#offline;
  }

  async assertPacksPresent(packs: readonly PackSize[]): Promise<void> {
    this.#assertNone((await this.#look(packs)).gone);
  }

  async #look(
    packs: readonly PackSize[],
    ask?: AskSizes,
  ): Promise<{ present: ReadonlyMap<string, number>; gone: PackSize[] }> {
    const present = await this.#stored.sizesOf(
      packs.map(({ id }) => id),
      ask,
    );
    return { present, gone: packs.filter(({ id, sizeBytes }) => (present.get(id) ?? -1) < sizeBytes) };
  }

  #assertNone([gone]: readonly PackSize[]): void {
    if (gone === undefined) return;
    if (this.#stored.isPartlyOffline) {
      throw new RefusedError(
        `pack ${gone.id}, which was just written, may be in a group that is offline now; the snapshot was not saved`,
        { hint: 'Make the group available again, or run the command again, which goes on in the other groups.' },
      );
    }
    throw new PackGoneError(`pack ${gone.id}, which the new snapshot needs, is gone; the snapshot was not saved`, {
      advice: { code: 'repeat-or-repair' },
    });
  }
}

/**
 * The packs on which a new snapshot must not rely: those that are condemned, and those of borrowed chunks that the
 * lender has lost. A lender that cannot be reached is trusted, after a notice, unless `trustsUnreachable` is false.
 */
export async function unreliablePackIds(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  trustsUnreachable: boolean = true,
): Promise<ReadonlySet<string>> {
  const { packIds } = opened.listing.condemned;
  const distrusted = await extensionOf(repository)?.distrustedPacks(context, repository, opened, { trustsUnreachable });
  return distrusted === undefined ? packIds : new Set([...packIds, ...distrusted]);
}

/** The packs that are in no listing, if a group is offline. */
export function offlinePackIds({ state, listing }: OpenedState): ReadonlySet<string> {
  if (listing.offlineGroups.length === 0) return new Set();
  return new Set([...state.packs.ids()].filter((id) => !listing.packs.has(id)));
}

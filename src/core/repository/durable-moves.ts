import type { Verify } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { packDigestOf } from '../crypto/pack-digest.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import { BackendError, CorruptDataError, isAbsent, isDamage, isDiskFull, isWriteRefused } from '../errors.ts';
import { directoryOf, packCopyName } from '../format/layout.ts';
import type { Group } from '../groups/group.ts';
import { compareRanks } from '../groups/pack-copy.ts';
import { decide, homesOf } from './groups/copy-decision.ts';
import type { CopiesWanted, Decision } from './groups/copy-decision.ts';
import type { GroupCopy, GroupPack, RankTargets } from './groups/group-packs.ts';

/** A pack of which no copy can be read, or that was found to be damaged before its other copies were removed. */
export interface UnmovedPack {
  readonly packId: string;
  readonly groups: readonly string[];
}

/** `movedCount`: how many of the surplus copies have one in their place that was made for that. */
type Settled = Pick<Decision, 'kept' | 'surplus'> & { readonly pack: GroupPack; readonly movedCount: number };

/** So much is copied before barriers are made and the sources are removed. */
const BATCH_BYTES = 256 * 1024 * 1024;

/**
 * The order of the steps of a move between groups. `DurableOrder` has the order of all other writes.
 *
 * - A copy is written under a name that ranks above all copies that are known, after the digest of what was read has
 *   been verified. It is durable, and was read again, before any other copy is removed.
 * - A copy is removed only if there are as many durable copies of higher rank as are wanted. So of all copies of a pack
 *   that were ever durable, those of the highest ranks remain until the pack is removed. This holds for processes that
 *   were suspended between any two steps and do not know of each other. The lock is verified before each step
 *   nevertheless: it makes them stop early.
 */
export class DurableMoves {
  readonly #packHash: PackHash;
  readonly #verify: Verify;
  readonly #copiesWanted: CopiesWanted;
  readonly #mayFallShort: boolean;
  #batch: Settled[] = [];
  #batchBytes = 0;
  readonly #plannedBytes = new Map<Group, number>();
  readonly unmoved: UnmovedPack[] = [];
  /** Packs that got a new copy. */
  packsChanged = 0;
  /** Those that got one in the place of another, and the size of these copies. */
  packsMoved = 0;
  bytesMoved = 0;
  /** Those that got more copies, and the size of these. */
  packsCopied = 0;
  bytesCopied = 0;
  /** Ids of packs that have fewer copies than wanted, because too few groups could take them. */
  readonly shortIds: string[] = [];
  /** Copies that were left over, and are removed. */
  surplusCopies = 0;
  surplusBytes = 0;

  /**
   * `verify`: verifies the exclusive lock. `mayFallShort`: if too few groups can take a pack, it keeps the copies that it
   * has and gets as many more as possible. Otherwise that is an error.
   */
  constructor(given: {
    readonly packHash: PackHash;
    readonly verify: Verify;
    readonly copiesWanted: CopiesWanted;
    readonly mayFallShort: boolean;
  }) {
    this.#packHash = given.packHash;
    this.#verify = given.verify;
    this.#copiesWanted = given.copiesWanted;
    this.#mayFallShort = given.mayFallShort;
  }

  /** Counts what `settle` would do, and changes nothing. */
  plan(pack: GroupPack, rankTargets: RankTargets): void {
    const decision = this.#decide(pack, rankTargets(pack));
    const { missing, surplus } = decision;
    for (const group of missing) this.#plannedBytes.set(group, (this.#plannedBytes.get(group) ?? 0) + pack.sizeBytes);
    this.#countSurplus(surplus, this.#countCopies(pack, missing.length, decision));
  }

  /**
   * Copies a pack to where it should be. The other copies are removed by this call or by a later one; `flush` ends that.
   * @throws BackendError of the kind `full` if there is no room
   */
  async settle(given: GroupPack, rankTargets: RankTargets): Promise<void> {
    let pack = given;
    for (;;) {
      const decision = this.#decide(pack, rankTargets(pack));
      const [target] = decision.missing;
      if (target === undefined) return await this.#add(pack, decision, given);
      const copy = await this.#copy(pack, target);
      if (copy === 'unreadable') return;
      // What is removed now may make room.
      if (copy === 'full') await this.flush();
      else pack = { ...pack, copies: [copy, ...pack.copies].sort(compareRanks) };
    }
  }

  #decide(pack: GroupPack, ranked: readonly Group[]): Decision {
    const takes = (group: Group): boolean =>
      group.isWritable && group.hasRoomFor(pack.sizeBytes + (this.#plannedBytes.get(group) ?? 0));
    const wanted = this.#copiesWanted(pack.id);
    const decision = decide({ pack, ranked, takes, wanted, mayFallShort: this.#mayFallShort });
    if (decision === undefined) throw noRoom();
    return decision;
  }

  /** Makes copies durable, and removes the others. */
  async flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    for (const group of homesOf(batch.flatMap(({ kept }) => kept))) {
      await group.barrier();
      await group.settle(directoriesOf(batch, group));
    }
    for (const { pack, kept, surplus, movedCount } of batch) {
      // All that stays is read again before anything is removed, and so are new copies.
      if (!(await this.#areSound(pack, kept))) continue;
      await this.#remove(surplus);
      this.#countSurplus(surplus, movedCount);
    }
    for (const group of homesOf(batch.flatMap(({ surplus }) => surplus))) await group.barrier();
  }

  /** `copyCount`: of the copies that were made. Returns how many of them are in the place of others. */
  #countCopies({ id, sizeBytes }: GroupPack, copyCount: number, { isShort, surplus }: Decision): number {
    if (isShort) this.shortIds.push(id);
    if (copyCount > 0) this.packsChanged += 1;
    const movedCount = Math.min(copyCount, surplus.length);
    this.packsMoved += movedCount > 0 ? 1 : 0;
    this.bytesMoved += movedCount * sizeBytes;
    this.packsCopied += copyCount > movedCount ? 1 : 0;
    this.bytesCopied += (copyCount - movedCount) * sizeBytes;
    return movedCount;
  }

  #countSurplus(surplus: readonly GroupCopy[], movedCount: number): void {
    const leftOver = surplus.slice(movedCount);
    this.surplusCopies += leftOver.length;
    this.surplusBytes += leftOver.reduce((total, copy) => total + copy.sizeBytes, 0);
  }

  async #add(pack: GroupPack, decision: Decision, given: GroupPack): Promise<void> {
    const { kept, surplus } = decision;
    const movedCount = this.#countCopies(pack, pack.copies.length - given.copies.length, decision);
    // New copies are made durable, too.
    if (surplus.length === 0 && pack === given) return;
    this.#batch.push({ pack, kept, surplus, movedCount });
    this.#batchBytes += pack.sizeBytes;
    if (this.#batchBytes >= BATCH_BYTES) await this.flush();
  }

  /** A group that is full or refuses to be written is left out from then on. One that is offline ends the move. */
  async #copy(pack: GroupPack, target: Group): Promise<GroupCopy | 'full' | 'unreadable'> {
    const bytes = await this.#readSound(pack);
    if (bytes === undefined) {
      this.unmoved.push({ packId: pack.id, groups: pack.copies.map(({ home }) => home.entry.name) });
      return 'unreadable';
    }
    const generation = Math.max(...[...pack.copies, ...(pack.damaged ?? [])].map((copy) => copy.generation)) + 1;
    const name = packCopyName(pack.id, generation);
    try {
      await target.write(name, [bytes], this.#verify);
    } catch (error) {
      if (!isDiskFull(error) && !isWriteRefused(error)) throw error;
      return 'full';
    }
    return { home: target, name, generation, sizeBytes: bytes.length };
  }

  async #readSound(pack: GroupPack): Promise<Uint8Array | undefined> {
    for (const copy of pack.copies) {
      const bytes = await this.#readCopy(pack, copy);
      if (bytes !== undefined) return bytes;
    }
    return undefined;
  }

  /** Returns undefined if a copy is damaged, or gone. */
  async #readCopy({ id }: GroupPack, { home, name }: GroupCopy): Promise<Uint8Array | undefined> {
    try {
      return await home.run(async (backend) =>
        readSurely(backend, name, async (from) => {
          const bytes = await from.read(name);
          if (packDigestOf(this.#packHash, bytes) === id) return bytes;
          throw new CorruptDataError(`${name}: its digest differs from its name`);
        }),
      );
    } catch (error) {
      if (!home.isOnline || !(isAbsent(error) || isDamage(error))) throw error;
      return undefined;
    }
  }

  async #areSound(pack: GroupPack, kept: readonly GroupCopy[]): Promise<boolean> {
    for (const copy of kept) {
      if ((await this.#readCopy(pack, copy)) !== undefined) continue;
      this.unmoved.push({ packId: pack.id, groups: [copy.home.entry.name] });
      return false;
    }
    return true;
  }

  async #remove(surplus: readonly GroupCopy[]): Promise<void> {
    for (const { home, name, sizeBytes } of surplus) {
      await this.#verify();
      await home.remove(name, sizeBytes);
    }
  }
}

/** Copies that another process has published may not be durable yet. */
function directoriesOf(batch: readonly Settled[], group: Group): string[] {
  const names = batch.flatMap(({ kept }) => kept.filter(({ home }) => home === group).map(({ name }) => name));
  return ['packs', ...new Set(names.map(directoryOf))];
}

function noRoom(): BackendError {
  return new BackendError('no other group can take more packs: each is full, read-only or offline', {
    kind: 'full',
    hint: 'Add another group, or delete snapshots; then run the command again. What was moved stays where it is now, and a group that was to be drained stays read-only.',
  });
}

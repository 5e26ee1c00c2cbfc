import { RefusedError } from '../errors.ts';
import { bothOf } from '../util/map-concurrently.ts';
import type { Condemned } from '../format/condemnation.ts';
import type { PackContents } from '../format/pack.ts';
import type { PreparedCondemnation } from '../repository/durable-order.ts';
import { condemnationMark, condemnationName, packName, segmentName } from '../format/layout.ts';
import { markedIn } from '../repository/listing.ts';
import type { Listing } from '../repository/listing.ts';
import type { Repository } from '../repository/repository.ts';

/** Names of what goes before segments and packs, and after them. */
interface OtherFiles {
  /** Commit records. If there are any, the lock was just verified. */
  readonly records?: readonly string[] | undefined;
  /** Copies of manifests. */
  readonly copies?: readonly string[];
  readonly after?: readonly string[];
}

/**
 * Removes segments and packs in the two phases of docs/format.md, "Removal": call `prepare`, copy and index the chunks
 * that are still needed, then call `begin`, `removeFiles` and `end`.
 */
export class Removal {
  readonly #repository: Repository;
  readonly #condemned: Condemned;
  readonly #knownSnapshotIds: ReadonlySet<string>;
  readonly #lastCommit: number;
  #prepared: PreparedCondemnation | undefined;

  /**
   * `snapshotIds`: the snapshots whose chunks were taken into account. `lastCommit`: the highest number of the commit
   * records that were.
   */
  constructor(
    repository: Repository,
    condemned: Condemned,
    known: { readonly snapshotIds: ReadonlySet<string>; readonly lastCommit: number },
  ) {
    this.#repository = repository;
    this.#condemned = condemned;
    this.#knownSnapshotIds = known.snapshotIds;
    this.#lastCommit = known.lastCommit;
  }

  /** Writes the condemnation, which is not yet in force. Does nothing if there is nothing to remove. */
  async prepare(): Promise<void> {
    const { segmentIds, packIds } = this.#condemned;
    if (this.#prepared !== undefined || segmentIds.length + packIds.length === 0) return;
    this.#prepared = await this.#repository.order.prepareCondemnation(this.#condemned);
  }

  /** Discards a prepared condemnation. */
  async abandon(): Promise<void> {
    await this.#prepared?.file.discard();
    this.#prepared = undefined;
  }

  /**
   * Puts the condemnation in force and renews the lock, which is verified last.
   * @throws RefusedError if there is a new snapshot: a process that was suspended and lost its lock may have committed
   * or undeleted one. It may need condemned packs; the next compaction copies their chunks first.
   */
  async begin(): Promise<void> {
    await this.prepare();
    const { order, assertLocked, files } = this.#repository;
    try {
      await order.condemn(this.#prepared, assertLocked);
    } catch (error) {
      await this.abandon();
      throw error;
    }
    // What the copies of the metadata say is needed must not be removed from the groups.
    await this.#repository.groups?.copyMetadata?.(assertLocked);
    const isNew = (id: string): boolean => !this.#knownSnapshotIds.has(id);
    const look = async (): Promise<[[string[], string[]], void]> =>
      bothOf(bothOf(files.snapshotIds(), files.committedAfter(this.#lastCommit)), assertLocked());
    const [[snapshotIds, committedIds]] = await this.#repository.renewLock(look);
    const [listed, committed] = [snapshotIds.filter(isNew), committedIds.filter(isNew)];
    for (const id of [...(await files.existingSnapshots(listed)), ...committed]) {
      throw new RefusedError(`snapshot ${id.slice(0, 8)} appeared meanwhile; the removal has not begun`, {
        hint: 'Run the command again.',
      });
    }
  }

  /**
   * Removes segments before packs, so that no segment lists a missing pack. Damaged files are moved to quarantine/.
   */
  async removeFiles({ records, copies = [], after = [] }: OtherFiles = {}): Promise<void> {
    const { segmentIds, packIds, damagedIds } = this.#condemned;
    const { order, assertLocked } = this.#repository;
    const before = [records ?? [], copies];
    if (damagedIds.length === 0) {
      const files = [segmentIds.map((id) => segmentName(id)), packIds.map((id) => packName(id))];
      return await order.removeInTurn([...before, ...files, after], assertLocked, records !== undefined);
    }
    await order.removeInTurn(before, assertLocked, records !== undefined);
    const damaged = new Set(damagedIds);
    await this.#removeAll(segmentIds, segmentName, damaged, async (id) =>
      order.quarantine(segmentName(id), assertLocked),
    );
    await this.#removeAll(packIds, packName, damaged, async (id) => quarantinePack(this.#repository, id));
    await order.remove(after, assertLocked);
  }

  /** Removes the condemnation, and those with `earlierIds`, whose files this one lists too. */
  async end(earlierIds: Iterable<string> = []): Promise<void> {
    const ids = [...earlierIds, ...(this.#prepared === undefined ? [] : [this.#prepared.id])];
    const { order, assertLocked } = this.#repository;
    await order.remove(
      ids.map((id) => condemnationName(id)),
      assertLocked,
    );
    await this.#removeMarks();
  }

  /** Also those of processes that died before their condemnation was in force. */
  async #removeMarks(): Promise<void> {
    const { order, assertLocked, files } = this.#repository;
    const marked = markedIn(await files.list('locks'));
    const inForce = await files.whichExist(marked.map((id) => condemnationName(id)));
    const old = marked.filter((id) => !inForce.has(condemnationName(id)));
    await order.remove(
      old.map((id) => condemnationMark(id)),
      assertLocked,
    );
  }

  async #removeAll(
    ids: readonly string[],
    nameOf: (id: string) => string,
    damaged: ReadonlySet<string>,
    quarantine: (id: string) => Promise<void>,
  ): Promise<void> {
    const { order, assertLocked } = this.#repository;
    for (const id of ids) if (damaged.has(id)) await quarantine(id);
    const removed = ids.filter((id) => !damaged.has(id)).map((id) => nameOf(id));
    await order.remove(removed, assertLocked);
  }
}

/** Sets a damaged pack aside, with all its copies in groups. */
export async function quarantinePack(
  { order, packs, assertLocked }: Pick<Repository, 'order' | 'packs' | 'assertLocked'>,
  packId: string,
): Promise<void> {
  for (const copyId of await packs.copyIdsOf(packId)) await order.quarantine(packName(copyId), assertLocked);
  await order.quarantine(packName(packId), assertLocked);
}

/**
 * Removes copies whose segment could not be written. Keeps them if a new segment is listed: it may be that segment,
 * written but not yet durable, and would list missing packs.
 */
export async function discardCopies(
  { files, order, assertLocked }: Repository,
  before: Listing,
  packs: readonly PackContents[],
): Promise<void> {
  const known = new Set([...before.segmentIds, ...before.condemned.segmentIds]);
  const { segmentIds } = await files.listAll();
  if (!segmentIds.every((id) => known.has(id))) return;
  await order.remove(
    packs.map(({ id }) => packName(id)),
    assertLocked,
  );
}

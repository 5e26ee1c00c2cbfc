import { randomBytes } from 'node:crypto';
import type { Backend, StagedFile, Verify } from '../backend/backend.ts';
import type { Seals } from '../crypto/seals.ts';
import { sha256 } from '../crypto/sha256.ts';
import { sealStream } from '../crypto/stream-seal.ts';
import { isDiskFull } from '../errors.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import { isCheckpointName } from '../format/checkpoint-name.ts';
import { encodeCondemnation } from '../format/condemnation.ts';
import type { Condemned } from '../format/condemnation.ts';
import { NONCE_BYTES } from '../format/constants.ts';
import { encodeSegment } from '../format/segment.ts';
import type { PackContents } from '../format/pack.ts';
import type { FilePlace } from '../store/pack-end.ts';
import type { PackSink } from '../store/pack-writer.ts';
import {
  RESERVE_BYTES,
  RESERVE_NAME,
  condemnationMark,
  condemnationName,
  deletedName,
  manifestCopyName,
  segmentName,
  snapshotName,
} from '../format/layout.ts';
import { freeQuarantineName, moveMakingRoom, moveUnlessGone, removeInTurn } from './moves.ts';
import { afterBoth, settleRemoved, settleSeen } from './groups/settle-others.ts';
import { LastLook, afterSettling, orDiscard, prepareFile, stageFile, telling } from './staging.ts';
import type { Holding, MakeManifest, MayStay, WriteFile } from './staging.ts';

type FileName = string | Promise<string>;
type Committed = { readonly id: string; readonly bytes: Uint8Array };
/** A condemnation that is not yet in force. */
export type PreparedCondemnation = { readonly id: string; readonly file: StagedFile };

/**
 * THE order of durable writes: only this, and `DurableMoves` for moves between groups, changes what is in a repository.
 *
 * - A name appears only by `publish`, whole or not at all; and a barrier makes it durable before anything that relies
 *   on the name is written, and before success is reported. `settle-others.ts` does that for names of other processes.
 * - Packs are durable before the segment that names them, the segment before the snapshot.
 * - The copy of a manifest exists only while the manifest is durable in snapshots/ or deleted/.
 * - Packs and segments are removed in two phases. First a condemnation that lists them becomes durable; from then on
 *   nothing newly relies on them. Then, under a new exclusive lock, the segments are removed, then the packs. The lock is
 *   verified before each removal. Names are never used twice, so a suspended process can remove only what it condemned.
 */
export class DurableOrder implements PackSink {
  readonly packsAtOnce: number | undefined;
  readonly isFar: boolean;
  readonly packNotes: PackSink['packNotes'];
  readonly #backend: Backend;
  readonly #seals: Seals;

  constructor({ backend, seals, packNotes }: FilePlace & Pick<PackSink, 'packNotes'>) {
    this.packsAtOnce = backend.packsAtOnce;
    this.isFar = backend.readsAtOnce > 1;
    this.packNotes = packNotes;
    this.#backend = backend;
    this.#seals = seals;
  }

  async create(kind: PackContents['kind']): Promise<StagedFile> {
    return await this.#backend.stage(kind === 'tree', kind === 'data');
  }

  /** Indexes packs, after making them durable. Returns the id of the segment, which is durable then. */
  async publishSegment(packs: readonly PackContents[], verify?: Verify): Promise<string> {
    await this.#backend.barrier();
    const bytes = this.#seals.seal('segments', encodeSegment(packs, randomBytes(NONCE_BYTES)));
    const id = sha256(bytes);
    const tell = (): void => this.packNotes?.onIndexing(packs.map((pack) => pack.id));
    await this.#backend.publish(segmentName(id), bytes, telling(verify, tell));
    // When this fails the segment stays: another process may have opened the repository with it by now.
    await this.#backend.barrier();
    return id;
  }

  /**
   * Commits snapshots. Each manifest is made when the ids of those before it are known. `verify` runs before each and after
   * the last, since this process may have been suspended. If it throws, the snapshots are deleted, unless they `mayStay`.
   */
  async commitSnapshots(manifests: readonly MakeManifest[], verify: Verify, mayStay: MayStay): Promise<Committed[]> {
    await this.#backend.barrier();
    const settled = afterSettling(this.#backend, verify);
    const last = new LastLook(verify);
    const committed: Committed[] = [];
    const ids = (): string[] => committed.map(({ id }) => id);
    const orWithdraw = async (step: () => Promise<void>, isDurable: boolean): Promise<void> =>
      step().catch(async (error: unknown) => {
        await this.#withdrawUnless(async (id) => mayStay(id, isDurable), ids());
        throw error;
      });
    await orWithdraw(async () => {
      for (const make of manifests) {
        const bytes = this.#seals.seal('snapshots', make(ids()));
        const id = sha256(bytes);
        const after = this.isFar && committed.length + 1 === manifests.length ? last.begin : undefined;
        await this.#backend.publish(snapshotName(id), bytes, settled, after);
        committed.push({ id, bytes });
      }
    }, true);
    await orWithdraw(async () => this.#backend.barrier(), false);
    await orWithdraw(async () => last.result(), true);
    return committed;
  }

  /** Moved, not removed, so that a process that has counted the snapshot by now does not take it for lost. */
  async #withdrawUnless(mayStay: (id: string) => Promise<boolean>, snapshotIds: readonly string[]): Promise<void> {
    for (const id of snapshotIds) {
      if (!(await mayStay(id).catch(() => false))) await this.commitDelete([[id]]).catch(() => undefined);
    }
  }

  /** Second copies of manifests that are verified to be there, by id: a copy says that a reclaimed snapshot is lost. */
  async copyManifests(manifests: ReadonlyMap<string, Uint8Array>, verify: Verify): Promise<void> {
    await this.#backend.barrier();
    await mapConcurrently([...manifests], this.#backend.readsAtOnce, async ([id, bytes]) => {
      const name = manifestCopyName(id);
      const last = new LastLook(verify);
      await this.#backend.publish(name, bytes, this.isFar ? undefined : verify, this.isFar ? last.begin : undefined);
      await this.#takeBackUnless(async () => last.result(), name);
    });
    await this.#backend.barrier();
  }

  /** This process may have been suspended between `verify` and the rename that gave a file its name. */
  async #takeBackUnless(verify: Verify, name: string): Promise<void> {
    await verify().catch(async (error: unknown) => {
      await this.remove([name]);
      throw error;
    });
  }

  /** A checkpoint, piece by piece. `verify` runs right before its name appears, and once more after that. */
  async publishCheckpoint(name: FileName, write: WriteFile, verify: Verify = async () => undefined): Promise<void> {
    const isCheckpoint = typeof name !== 'string' || isCheckpointName(name);
    const settling = isCheckpoint ? settleSeen(this.#backend) : Promise.resolve();
    const before = afterBoth(settling, verify);
    if (!this.isFar) await settling;
    const seal: WriteFile = async (append) => sealStream(this.#seals.keys, append, write);
    const file = await stageFile(this.#backend, seal, isCheckpoint);
    await this.publishHeld(await orDiscard(file, async () => name), file, { verify, before });
  }

  /**
   * The commit of a delete. `snapshotIds`: of each snapshot its manifests, in the order in which they must go. `verify` runs
   * right before each rename. Returns the ids of those that were deleted: another process may have deleted some of them
   * first. `areReplaced`: by others, which must be durable first.
   */
  async commitDelete(snapshotIds: readonly string[][], verify?: Verify, areReplaced = false): Promise<string[]> {
    if (areReplaced) await settleSeen(this.#backend);
    const deletedIds: string[] = [];
    try {
      await mapConcurrently(snapshotIds, this.#backend.readsAtOnce, async (ids) => {
        for (const id of ids) {
          await verify?.();
          if (await moveMakingRoom(this.#backend, snapshotName(id), deletedName(id))) deletedIds.push(id);
        }
      });
    } finally {
      // Also after a failure: a compaction by another process would rely on the names that were moved.
      await this.#backend.barrier();
    }
    return deletedIds;
  }

  /** `verify` runs before it and after it, as for `commitSnapshots`, which also says what happens if it throws. */
  async undoDelete(snapshotIds: readonly string[], verify: Verify, mayStay: MayStay): Promise<void> {
    await verify();
    const restored: string[] = [];
    try {
      for (const id of snapshotIds) {
        await this.#backend.move(deletedName(id), snapshotName(id));
        restored.push(id);
      }
      await this.#backend.barrier();
      await verify();
    } catch (error) {
      await this.#withdrawUnless(async (id) => mayStay(id, true), restored);
      throw error;
    }
  }

  /** Writes a condemnation under a temporary name. A full disk makes this fail before anything was copied. */
  async prepareCondemnation(condemned: Condemned): Promise<PreparedCondemnation> {
    const bytes = this.#seals.seal('condemnations', encodeCondemnation(condemned, randomBytes(NONCE_BYTES)));
    return { id: sha256(bytes), file: await prepareFile(this.#backend, bytes) };
  }

  /** Phase one of a removal, even if nothing is condemned. From now on nothing newly relies on what is listed. */
  async condemn(prepared: PreparedCondemnation | undefined, verify: Verify): Promise<void> {
    await settleRemoved(this.#backend);
    if (prepared === undefined) return;
    await this.#backend.claim(condemnationMark(prepared.id));
    // No barrier here: whatever else must be durable is. See docs/internals/removing.md, "The parts of the order".
    await this.publishHeld(condemnationName(prepared.id), prepared.file, { verify });
  }

  /**
   * Gives a file that was written under a temporary name its final one, durably, and takes it back if `verify` fails after
   * that. If it has not got the name, it is discarded. `before`: what is verified right before, by default the same.
   */
  async publishHeld(name: string, file: StagedFile, { verify, before = verify, isNew, stays }: Holding): Promise<void> {
    const last = new LastLook(verify);
    await file.publish(name, before, isNew, this.isFar ? last.begin : undefined);
    await this.#backend.barrier();
    await (stays === true ? last.result() : this.#takeBackUnless(async () => last.result(), name));
  }

  /** `isNew`: fails with the kind `exists` if there is a file of this name. `verify` runs right before the name appears. */
  async publishFile(name: string, bytes: Uint8Array, verify?: Verify, isNew?: boolean): Promise<void> {
    const file = await stageFile(this.#backend, async (append) => append(bytes));
    await file.publish(name, verify, isNew);
    await this.#backend.barrier();
  }

  /** Durably removes what nothing durable relies on any more. `verify` runs right before each removal. */
  async remove(names: readonly string[], verify?: Verify): Promise<void> {
    await removeInTurn(this.#backend, [names], { verify });
  }

  /** The same with groups, each durably before the next one. See `moves.ts`. */
  async removeInTurn(groups: readonly (readonly string[])[], verify: Verify, isVerified = false): Promise<void> {
    await removeInTurn(this.#backend, groups, { verify, isVerified });
  }

  /** Sets a damaged file aside; ldm never deletes what it could not read. `verify` runs right before. */
  async quarantine(name: string, verify?: Verify): Promise<void> {
    await verify?.();
    await moveUnlessGone(this.#backend, name, await freeQuarantineName(this.#backend, name));
    await this.#backend.barrier();
  }

  /** Sets a copy of a damaged file aside, before a file of the same name takes its place. */
  async quarantineCopy(name: string): Promise<void> {
    await this.publishFile(await freeQuarantineName(this.#backend, name), await this.#backend.read(name));
  }

  /** Puts the reserve back; no error if there is no room. Returns false if it was there. */
  async keepReserve(): Promise<boolean> {
    if ((await this.#backend.sizeOf(RESERVE_NAME)) === RESERVE_BYTES) return false;
    // Random, so that a file system that compresses still sets the space aside.
    await this.publishFile(RESERVE_NAME, randomBytes(RESERVE_BYTES)).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error;
    });
    return true;
  }
}

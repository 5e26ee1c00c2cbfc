import { isDiskFull } from '../../core/errors.ts';

/** One thing that repair did, or would do. `kind` is stable, for scripts. `name` is that of a file in the repository. */
export type RepairAction =
  /** `config-updated`: a rotation of the master key was interrupted before it replaced this copy. */
  | { readonly kind: 'config-rewritten' | 'config-updated'; readonly name: string; readonly from: string }
  | { readonly kind: 'snapshot-rewritten'; readonly snapshotId: string }
  /** Set aside. `isRewritten`: it is written again from another copy. */
  | {
      readonly kind: 'snapshot-quarantined' | 'deleted-snapshot-quarantined' | 'snapshot-copy-quarantined';
      readonly snapshotId: string;
      readonly isRewritten: boolean;
    }
  | { readonly kind: 'condemnation-quarantined'; readonly condemnationId: string }
  | { readonly kind: 'segment-replaced' | 'segment-quarantined'; readonly segmentId: string }
  | { readonly kind: 'pack-quarantined'; readonly packId: string }
  /** One of several copies of a pack, in the group of this name. */
  | { readonly kind: 'copy-quarantined'; readonly packId: string; readonly group: string }
  /** Packs that are in too few groups are copied to others. */
  | { readonly kind: 'copies-made'; readonly packCount: number; readonly roomBytes: number }
  /** Damaged copies of what is small, in the group of this name. */
  | { readonly kind: 'metadata-rewritten'; readonly fileCount: number; readonly group: string }
  | {
      readonly kind: 'checkpoint-removed' | 'checkpoint-quarantined' | 'realm-quarantined' | 'commit-quarantined';
      readonly name: string;
    }
  /**
   * A new segment lists the intact packs, and copies of what is readable in damaged ones and needed of those that are to
   * go or may be of a newer state. `roomBytes`: what the copies and that segment take, at most; 0 without copies.
   */
  | {
      readonly kind: 'segment-rebuilt';
      readonly intactPacks: number;
      readonly copiedPacks: number;
      readonly damagedPacks: number;
      readonly missingPacks: number;
      readonly roomBytes: number;
    }
  /** Lists the files to be replaced in condemned/, and removes the list at the end. */
  | { readonly kind: 'condemned' | 'condemnation-removed' | 'checkpoint-rewritten' | 'commits-rewritten' };

/** What a repair does, in order. Nothing is carried out before all of it is known. */
export class RepairPlan {
  readonly #steps: { readonly action: RepairAction; readonly run: () => Promise<unknown> }[] = [];

  add(action: RepairAction, run: () => Promise<unknown>): void {
    this.#steps.push({ action, run });
  }

  append(other: RepairPlan): void {
    for (const step of other.#steps) this.#steps.push(step);
  }

  get actions(): RepairAction[] {
    return this.#steps.map(({ action }) => action);
  }

  /**
   * `verify` runs before each step and stops the repair by throwing. On a full disk `makeRoom` runs once, and the step
   * is carried out again.
   */
  async carryOut(verify: () => Promise<void>, makeRoom: () => Promise<void>): Promise<void> {
    let isRoomMade = false;
    for (const { run } of this.#steps) {
      await verify();
      try {
        await run();
      } catch (error) {
        if (!isDiskFull(error) || isRoomMade) throw error;
        isRoomMade = true;
        await makeRoom();
        await run();
      }
    }
  }
}

import { isDiskFull } from '../../errors.ts';

/** One thing that repair did, or would do. */
export interface RepairAction {
  /** Stable, for scripts. */
  readonly kind: string;
  readonly file?: string;
  /** What to do, in the infinitive, with the name of the file: `set aside packs/...`. */
  readonly message: string;
}

/** What a repair does, in order. Nothing is carried out before all of it is known. */
export class RepairPlan {
  readonly #steps: { readonly action: RepairAction; readonly run: () => Promise<unknown> }[] = [];

  add(action: RepairAction, run: () => Promise<unknown>): void {
    this.#steps.push({ action, run });
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

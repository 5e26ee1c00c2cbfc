import type { Repository } from '../../repository/repository.ts';
import { RefusedError } from '../../errors.ts';
import type { FilterState } from '../../ldm/filter-state.ts';
import type { PackContents } from '../../format/pack.ts';

type PackSize = Pick<PackContents, 'id' | 'sizeBytes'>;

/** The packs that new snapshots rely on: existing packs with chunks they use, and packs written by this process. */
export class ReliedPacks {
  readonly #state: FilterState;
  readonly #stored: Repository['packs'];
  /** By pack index: whether a snapshot relies on the pack. */
  readonly #isRelied: Uint8Array;
  /** By pack index: whether the pack is condemned. */
  readonly #isCondemned: Uint8Array;
  readonly #own: PackSize[] = [];

  /** `condemnedIds`: packs that may be removed at any moment. */
  constructor(state: FilterState, stored: Repository['packs'], condemnedIds: ReadonlySet<string>) {
    this.#state = state;
    this.#stored = stored;
    let packCount = 0;
    state.packs.forEach((_, index) => {
      packCount = Math.max(packCount, index + 1);
    });
    this.#isRelied = new Uint8Array(packCount);
    this.#isCondemned = new Uint8Array(packCount);
    state.packs.forEach(({ id }, index) => {
      this.#isCondemned[index] = condemnedIds.has(id) ? 1 : 0;
    });
  }

  /** Adds a pack by its index in the state. Returns false if it is condemned: its chunks must be stored again. */
  rely(packIndex: number): boolean {
    if (this.#isCondemned[packIndex] === 1) return false;
    this.#isRelied[packIndex] = 1;
    return true;
  }

  /** Adds a pack written by this process. */
  addOwn({ id, sizeBytes }: PackSize): void {
    this.#own.push({ id, sizeBytes });
  }

  /** Throws RefusedError unless every pack still exists with its full size. */
  async assertPresent(): Promise<void> {
    const relied: PackSize[] = [];
    for (const [index, isRelied] of this.#isRelied.entries()) {
      if (isRelied === 1) relied.push(this.#state.packs.get(index));
    }
    await this.assertPacksPresent([...relied, ...this.#own]);
  }

  async assertPacksPresent(packs: readonly PackSize[]): Promise<void> {
    const sizes = await this.#stored.sizesOf(packs.map(({ id }) => id));
    const gone = packs.find(({ id, sizeBytes }) => (sizes.get(id) ?? -1) < sizeBytes);
    if (gone === undefined) return;
    throw new RefusedError(
      `pack ${gone.id}, which the new snapshot needs, disappeared meanwhile; the snapshot was not saved`,
      {
        hint: 'Run the command again; it stores the missing data again.',
      },
    );
  }
}

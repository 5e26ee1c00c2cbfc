import { bytesOver } from '../../core/ldm/image-words.ts';
import { PlaneCells } from '../../core/ldm/plane-cells.ts';
import { startOf, strideOf } from '../../core/ldm/positions.ts';
import type { SlotTrace, TracedSlot } from './trace.ts';
import { logOfMiss, type Shape, type Slice } from './bloom-slice.ts';

/** One filter of a group: a Bloom filter of one subset of the ids. */
interface GroupFilter {
  /** Number of ids whose bits are set, those that were deleted since included. */
  elements: number;
  deleted: number;
  bitCount: number;
}

/** Up to 32 equal Bloom filters. All their bits of one position are next to each other, see `PlaneCells`. */
export class BloomGroup {
  readonly shape: Shape;
  readonly filters: readonly GroupFilter[];
  readonly #cells: PlaneCells;
  /** Which filters have ids, as a bit mask. */
  #used = 0;

  constructor(shape: Shape, groupFilters: number) {
    this.shape = shape;
    this.filters = Array.from({ length: groupFilters }, () => ({ elements: 0, deleted: 0, bitCount: 0 }));
    this.#cells = new PlaneCells(shape.positions);
  }

  get memoryBytes(): number {
    return this.#cells.memoryBytes;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  /** Number of ids that were added and not deleted. */
  get liveCount(): number {
    return this.filters.reduce((sum, { elements, deleted }) => sum + elements - deleted, 0);
  }

  /** @param hash - of the id, four words */
  add(slot: number, hash: Uint32Array): void {
    const { positions, hashes } = this.shape;
    const filter = this.filters[slot]!;
    this.#cells.widen(slot + 1);
    filter.bitCount += this.#cells.add(slot, startOf(hash, 0, positions), strideOf(hash, 0, positions), hashes);
    filter.elements++;
    this.#used |= 1 << slot;
  }

  /** Returns which filters have an id, as a bit mask. */
  matches(hash: Uint32Array): number {
    const { positions, hashes } = this.shape;
    return this.#cells.probe(startOf(hash, 0, positions), strideOf(hash, 0, positions), hashes, this.#used);
  }

  /** The cells that `matches` reads, and what they have in common. */
  trace(hash: Uint32Array, number: number): Pick<SlotTrace, 'slots'> & { readonly hash: SlotTrace['hashes'][number] } {
    const { positions, hashes } = this.shape;
    const [start, stride] = [startOf(hash, 0, positions), strideOf(hash, 0, positions)];
    const cells = Array.from({ length: hashes }, (_, index): TracedSlot => {
      const place = (start + index * stride) % positions;
      const value = this.#cells.probe(place, 1, 1, this.#used) >>> 0;
      return { label: `group ${number}, h${index + 1}`, place, value };
    });
    const common = this.matches(hash) >>> 0;
    return {
      hash: [`group ${number}`, `start ${start}, stride ${stride}, modulo ${positions}`],
      slots: [...cells, { label: `group ${number}, and`, value: common, isMatch: common !== 0 }],
    };
  }

  /** Removes all ids of a filter. */
  clear(slot: number): void {
    Object.assign(this.filters[slot]!, { elements: 0, deleted: 0, bitCount: 0 });
    this.#cells.clear(slot);
    this.#used &= ~(1 << slot);
  }

  /** Replaces a filter by one that has ids. */
  replace(slot: number, { words, bitCount, elements }: Slice, deleted = 0): void {
    Object.assign(this.filters[slot]!, { elements, deleted, bitCount });
    this.#cells.widen(slot + 1);
    this.#cells.write(slot, bytesOver(words));
    this.#used |= 1 << slot;
  }

  /** The bits of a filter that has ids. */
  read(slot: number): Uint32Array {
    return this.#cells.read(slot);
  }

  /** Logarithm of the probability that an absent id is in no filter. */
  logOfMiss(): number {
    return this.filters.reduce((sum, filter) => sum + logOfMiss(filter, this.shape), 0);
  }
}

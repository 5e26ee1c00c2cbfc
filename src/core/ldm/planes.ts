import assert from 'node:assert/strict';
import { PlaneCells, SLOTS_MAX } from './plane-cells.ts';
import { planeBytes } from './plane.ts';
import { ID_WORDS, readIdWords, startOf, strideOf } from './positions.ts';

/** The plane of one domain. */
export interface DomainPlane {
  /** m */
  readonly positions: number;
  /** k */
  readonly hashes: number;
  /** `ceil(m / 8)` bytes, see src/core/ldm/plane.ts. */
  readonly plane: Uint8Array;
}

/** Up to 32 domains with the same m and k. */
interface Slice {
  readonly hashes: number;
  readonly cells: PlaneCells;
  /** The domain in each slot; undefined: the slot is free, and all its bits are 0. */
  readonly domains: (string | undefined)[];
  /** Which slots have a domain, as a bit mask. */
  slots: number;
}

interface Place {
  readonly slice: Slice;
  readonly slot: number;
}

const NONE: readonly string[] = [];

/** The planes of many domains: answers in which domains a chunk may be live. */
export class PlaneSet {
  readonly #slices: Slice[] = [];
  readonly #places = new Map<string, Place>();
  readonly #id: Uint32Array = new Uint32Array(ID_WORDS);

  get size(): number {
    return this.#places.size;
  }

  get memoryBytes(): number {
    return this.#slices.reduce((sum, { cells }) => sum + cells.memoryBytes, 0);
  }

  has(domainId: string): boolean {
    return this.#places.has(domainId);
  }

  /** Adds or replaces the plane of a domain. The bytes are copied. */
  set(domainId: string, { positions, hashes, plane }: DomainPlane): void {
    assert(plane.length === planeBytes(positions));
    const before = this.#places.get(domainId);
    if (before !== undefined && !fits(before.slice, positions, hashes)) this.remove(domainId);
    const { slice, slot } = this.#places.get(domainId) ?? this.#enter(domainId, positions, hashes);
    slice.cells.write(slot, plane);
  }

  /** Changes bits of the plane of a domain that is in the set. Positions are below its m. */
  applyFlips(domainId: string, flips: Uint32Array): void {
    const place = this.#places.get(domainId);
    assert(place !== undefined, 'a domain without a plane');
    place.slice.cells.flip(place.slot, flips);
  }

  /** Removes a domain; its slot is used again. No error if the domain is not in the set. */
  remove(domainId: string): void {
    const place = this.#places.get(domainId);
    if (place === undefined) return;
    const { slice, slot } = place;
    this.#places.delete(domainId);
    slice.domains[slot] = undefined;
    slice.slots &= ~(1 << slot);
    if (slice.slots === 0) this.#slices.splice(this.#slices.indexOf(slice), 1);
    else slice.cells.clear(slot);
  }

  /** Returns the domains in which the chunk may be live: the 20 bytes of its id begin at `offset` of `ids`. */
  candidates(ids: Uint8Array, offset: number): readonly string[] {
    readIdWords(ids, offset, this.#id);
    let found: string[] | undefined;
    for (const { cells, hashes, slots, domains } of this.#slices) {
      const start = startOf(this.#id, 0, cells.positions);
      const stride = strideOf(this.#id, 0, cells.positions);
      for (let left = cells.probe(start, stride, hashes, slots); left !== 0; left &= left - 1) {
        found ??= [];
        found.push(domains[31 - Math.clz32(left & -left)]!);
      }
    }
    return found ?? NONE;
  }

  /** Takes a free slot of a slice with the same m and k; otherwise the next slot, or a new slice. */
  #enter(domainId: string, positions: number, hashes: number): Place {
    let slice = this.#slices.find((one) => fits(one, positions, hashes) && one.slots !== ~0);
    if (slice === undefined) {
      slice = { hashes, cells: new PlaneCells(positions), domains: [], slots: 0 };
      this.#slices.push(slice);
    }
    const slot = lowestFree(slice.slots);
    assert(slot < SLOTS_MAX);
    slice.cells.widen(slot + 1);
    slice.domains[slot] = domainId;
    slice.slots |= 1 << slot;
    const place = { slice, slot };
    this.#places.set(domainId, place);
    return place;
  }
}

function fits(slice: Slice, positions: number, hashes: number): boolean {
  return slice.cells.positions === positions && slice.hashes === hashes;
}

/** The lowest bit that is 0. */
function lowestFree(slots: number): number {
  return 31 - Math.clz32(~slots & (slots + 1));
}

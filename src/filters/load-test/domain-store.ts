import { LdmFilter, NO_ENTRY } from '../../core/ldm/ldm-filter.ts';
import type { FilterPlan } from '../../core/ldm/formulas.ts';
import { planeOf } from '../../core/ldm/plane.ts';
import { PlaneSet } from '../../core/ldm/planes.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../core/ldm/random-ids.ts';

/** The location of a chunk is irrelevant here. */
const LOCATION = { packIndex: 0, blockOffset: 0, offsetInBlock: 0, lengthBytes: 1, storedBytes: 1 };

/** The domains of a load test, in memory: the filter of each, which answers exactly, and the planes of all. */
export class DomainStore {
  readonly domainCount: number;
  readonly planes: PlaneSet = new PlaneSet();
  readonly #idsPerDomain: number;
  readonly #ids: Uint8Array;
  readonly #filters: LdmFilter[] = [];

  constructor(domainCount: number, plan: FilterPlan, seed: number) {
    this.domainCount = domainCount;
    this.#idsPerDomain = plan.capacity;
    this.#ids = new Uint8Array(domainCount * plan.capacity * ID_BYTES);
    fillRandomIds(this.#ids, randomWords(seed));
    for (let domain = 0; domain < domainCount; domain++) this.#addDomain(domain, plan);
  }

  #addDomain(domain: number, plan: FilterPlan): void {
    const filter = new LdmFilter(plan);
    for (let index = 0; index < plan.capacity; index++) {
      filter.retain(filter.insert(this.#ids, this.#offsetOf(domain, index), LOCATION));
    }
    const plane = planeOf({ bytes: filter.parts().counters, positions: plan.positions });
    this.planes.set(String(domain), { positions: plan.positions, hashes: plan.hashes, plane });
    this.#filters.push(filter);
  }

  /** Copies the id of a chunk, by two fractions that select the domain and the chunk. */
  copyId(domainShare: number, idShare: number, target: Uint8Array): void {
    const domain = Math.floor(domainShare * this.domainCount);
    const offset = this.#offsetOf(domain, Math.floor(idShare * this.#idsPerDomain));
    target.set(this.#ids.subarray(offset, offset + ID_BYTES));
  }

  /** The exact answer of a domain. */
  has(domain: number, id: Uint8Array): boolean {
    return this.#filters[domain]!.find(id, 0) !== NO_ENTRY;
  }

  /** The domains in which the planes say that the chunk may be. */
  candidates(id: Uint8Array): number[] {
    return this.planes.candidates(id, 0).map(Number);
  }

  #offsetOf(domain: number, index: number): number {
    return (domain * this.#idsPerDomain + index) * ID_BYTES;
  }
}

import { type ChainStatistics, measureChains } from '../filter/chain-statistics.ts';
import { type FilterPlan, planFilter } from '../filter/formulas.ts';
import { LdmFilter, NO_ENTRY, NO_PACK } from '../filter/ldm-filter.ts';
import type { CapacityOptions } from './capacity-options.ts';
import { toChunkId } from './chunk-ids.ts';
import { decodeLdmSet, encodeLdmSet } from './ldm-set-saved.ts';
import type { ErasableFilter, MergeableFilter } from './membership-filter.ts';

const NOWHERE = { packIndex: NO_PACK, blockOffset: 0, offsetInBlock: 0, lengthBytes: 0, storedBytes: 0 };

/**
 * The LDM filter of the repository as a set of ids: adding an id is one reference more, deleting it one less, and the last
 * one takes it out. Exact, since a chain holds whole ids: the counters only say when the chain can be skipped. When the
 * ids would pass the capacity, it is laid out for half as many again, so the rate of the counters stays below its target.
 *
 * Memory: 48 bytes an entry, of which 20 are the location that a repository needs, and 9 to 14 for counters and heads.
 * A chunk id (20 bytes) is used as it is and must be uniform, which a keyed hash is; ids of other lengths are hashed.
 */
export class LdmSet implements ErasableFilter, MergeableFilter<LdmSet> {
  readonly name = 'ldm';
  readonly #filter: LdmFilter;
  #references = 0;

  private constructor(filter: LdmFilter) {
    this.#filter = filter;
    filter.forEachEntry((entry) => (this.#references += filter.refs(entry)));
  }

  /**
   * @param options.hashes - k; by the rate without it
   * @throws UsageError for what cannot be planned
   */
  static forCapacity(options: CapacityOptions & { readonly hashes?: number | undefined }): LdmSet {
    const { capacity, falsePositiveRate: fpr, hashes } = options;
    return new LdmSet(new LdmFilter(planFilter({ capacity, fpr, hashes })));
  }

  /** @throws CorruptDataError for anything that `save` did not write */
  static load(bytes: Uint8Array): LdmSet {
    return new LdmSet(decodeLdmSet(bytes));
  }

  /** References: an id that was added twice counts twice. */
  get elements(): number {
    return this.#references;
  }

  get distinctIds(): number {
    return this.#filter.liveCount;
  }

  get memoryBytes(): number {
    return this.#filter.memoryBytes;
  }

  /** The present plan; its capacity and positions grow. */
  get plan(): FilterPlan {
    return this.#filter.plan;
  }

  /** One reference more. */
  add(id: Uint8Array): void {
    const chunkId = toChunkId(id);
    const found = this.#filter.find(chunkId, 0);
    const entry = found === NO_ENTRY ? this.#filter.insert(chunkId, 0, NOWHERE) : found;
    const before = this.#filter.refs(entry);
    this.#references += this.#filter.retain(entry) - before;
  }

  has(id: Uint8Array): boolean {
    return this.#filter.find(toChunkId(id), 0) !== NO_ENTRY;
  }

  /** One reference less; a count that reached 2^32 - 1 stays. */
  delete(id: Uint8Array): boolean {
    const entry = this.#filter.find(toChunkId(id), 0);
    if (entry === NO_ENTRY) return false;
    const before = this.#filter.refs(entry);
    const after = this.#filter.release(entry);
    this.#references += after - before;
    if (after === 0) this.#filter.forget(entry);
    return true;
  }

  /** References to an id; 0 where it is not in. */
  references(id: Uint8Array): number {
    const entry = this.#filter.find(toChunkId(id), 0);
    return entry === NO_ENTRY ? 0 : this.#filter.refs(entry);
  }

  /** Afterwards every id has the references of both. */
  merge(other: LdmSet): void {
    const id = new Uint8Array(20);
    const from = other === this ? LdmSet.load(other.save()).#filter : other.#filter;
    from.forEachEntry((entry) => {
      from.copyId(entry, id, 0);
      for (let left = from.refs(entry); left > 0; left--) this.add(id);
    });
  }

  /** `has` is exact. How often it walks a chain in vain is `counterRate`. */
  falsePositiveRate(): number {
    return 0;
  }

  /** What the counters alone say of an id: false is certain. */
  mayHave(id: Uint8Array): boolean {
    return this.#filter.mayBeLive(toChunkId(id), 0);
  }

  /** Ids at each link position: chains as the LDM paper defines them. */
  chains(): ChainStatistics {
    return measureChains(this.#filter).byLink;
  }

  /** Ids on each chain that a look-up walks: neighbouring link positions share one. */
  walkedChains(): ChainStatistics {
    return measureChains(this.#filter).walked;
  }

  longestChain(): number {
    return this.chains().max;
  }

  save(): Uint8Array {
    return encodeLdmSet(this.#filter);
  }
}

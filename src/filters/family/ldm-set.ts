import { type ChainStatistics, measureChains } from '../../core/ldm/chain-statistics.ts';
import { type FilterPlan, planFilter } from '../../core/ldm/formulas.ts';
import { LdmFilter, NO_ENTRY, NO_PACK } from '../../core/ldm/ldm-filter.ts';
import type { CapacityOptions } from './sizing.ts';
import { ID_WORDS, linkOf, readIdWords, startOf, strideOf } from '../../core/ldm/positions.ts';
import { toChunkId } from './chunk-ids.ts';
import { decodeLdmSet, encodeLdmSet } from './ldm-set-saved.ts';
import type { ErasableFilter, MergeableFilter } from './membership-filter.ts';
import { traceOfStride, type Trace } from './trace.ts';

const NOWHERE = { packIndex: NO_PACK, blockOffset: 0, offsetInBlock: 0, lengthBytes: 0, storedBytes: 0 };

/**
 * The LDM filter of the repository as a set of ids: adding an id adds a reference, deleting it removes one, and
 * removing the last reference deletes the id. Exact, because a chain stores complete ids; the counters only decide
 * whether the chain can be skipped. When the number of ids would exceed the capacity, the filter is rebuilt with 1.5
 * times the capacity, so the rate of the counters stays below its target.
 *
 * Memory: 48 bytes per entry, 20 of which are the location that a repository needs, and 7 to 11 for counters and heads.
 * A chunk id (20 bytes) is used unchanged and must be uniform, as a keyed hash is; ids of other lengths are hashed.
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
   * @param options.hashes - k; default: derived from the rate
   * @throws UsageError if no plan exists for the options
   */
  static forCapacity(options: CapacityOptions & { readonly hashes?: number | undefined }): LdmSet {
    const { capacity, falsePositiveRate: fpr, hashes } = options;
    return new LdmSet(new LdmFilter(planFilter({ capacity, fpr, hashes })));
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): LdmSet {
    return new LdmSet(decodeLdmSet(bytes));
  }

  /** Number of references: an id that was added twice counts twice. */
  get elements(): number {
    return this.#references;
  }

  get distinctIds(): number {
    return this.#filter.liveCount;
  }

  get memoryBytes(): number {
    return this.#filter.memoryBytes;
  }

  /** The current plan; its capacity and positions grow. */
  get plan(): FilterPlan {
    return this.#filter.plan;
  }

  /** Adds a reference. */
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

  /** Removes a reference; a count that has reached 2^32 - 1 stays. Returns false if the id is absent. */
  delete(id: Uint8Array): boolean {
    const entry = this.#filter.find(toChunkId(id), 0);
    if (entry === NO_ENTRY) return false;
    const before = this.#filter.refs(entry);
    const after = this.#filter.release(entry);
    this.#references += after - before;
    if (after === 0) this.#filter.forget(entry);
    return true;
  }

  /** Reference count of an id; 0 if it is absent. */
  references(id: Uint8Array): number {
    const entry = this.#filter.find(toChunkId(id), 0);
    return entry === NO_ENTRY ? 0 : this.#filter.refs(entry);
  }

  /** Adds the references of `other` to every id. */
  merge(other: LdmSet): void {
    const id = new Uint8Array(20);
    const from = other === this ? LdmSet.load(other.save()).#filter : other.#filter;
    from.forEachEntry((entry) => {
      from.copyId(entry, id, 0);
      for (let left = from.refs(entry); left > 0; left--) this.add(id);
    });
  }

  /** `has` is exact. See `counterRate` for the rate of unnecessary chain walks. */
  falsePositiveRate(): number {
    return 0;
  }

  /** The answer of the counters alone; false is certain. */
  mayHave(id: Uint8Array): boolean {
    return this.#filter.mayBeLive(toChunkId(id), 0);
  }

  /** What `has` reads for an id: counters, and the chain at the link position if none of them is 0. */
  trace(id: Uint8Array): Trace {
    const { positions: size, hashes } = this.plan;
    const words = new Uint32Array(ID_WORDS);
    readIdWords(toChunkId(id), 0, words);
    const start = startOf(words, 0, size);
    const stride = strideOf(words, 0, size);
    const link = linkOf(words, 0, size, hashes);
    const { counters } = this.#filter;
    let chainLength = 0;
    this.#filter.forEachLiveInChainOrder((_entry, at) => (chainLength += Number(at === link)));
    return {
      ...traceOfStride({ start, stride }, { size, hashes }),
      unit: 'counter',
      arrays: [{ size, valueAt: (position) => counters.countAt(position) }],
      link: { name: 'link position', rule: '(h1 + h2 + ...) mod m', position: link, chainLength },
    };
  }

  /** Chains as the LDM paper defines them: the ids at each link position. */
  chains(): ChainStatistics {
    return measureChains(this.#filter).byLink;
  }

  /** Chains as they are saved; neighbouring link positions share one. */
  savedChains(): ChainStatistics {
    return measureChains(this.#filter).saved;
  }

  longestChain(): number {
    return this.chains().max;
  }

  save(): Uint8Array {
    return encodeLdmSet(this.#filter);
  }
}

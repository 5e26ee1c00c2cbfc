import type { MembershipFilter, ErasableFilter } from '../family/membership-filter.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { ABSENT_SEED_OFFSET, IdStream } from './id-stream.ts';

/** Enough answers to measure a rate of 0.01 to within a hundredth; more would not improve the result. */
const ANSWERS_MAX = 1_000_000;
const ANSWERS_MIN = 200_000;

/** Processor time of a series of equal operations, including garbage collection. */
export interface Timing {
  readonly count: number;
  readonly nsEach: number;
  /** Time of the slowest batch of 4096: rebuilding a filter blocks the process for this long. */
  readonly longestPauseMs: number;
}

export interface Answers extends Timing {
  /** Number of ids answered with "perhaps in". */
  readonly positives: number;
}

type Operation = (ids: readonly Uint8Array[]) => number;

/** Answers "was this added?" for an id. */
export type Ask = (id: Uint8Array) => boolean;

/** Processor time of this process; unlike wall-clock time, it excludes other programs. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Runs an operation on many ids of one filter and measures the time of the filter only, without generating the ids. */
export class MeasuredFilter {
  readonly filter: MembershipFilter;
  readonly #seed: number;
  readonly #pacer: Pacer;
  readonly #answersMin: number;
  /** Counted here, because a Bloom filter cannot count its elements. */
  #elements = 0;

  constructor(filter: MembershipFilter, seed: number, pacer: Pacer, answersMin: number = ANSWERS_MIN) {
    this.filter = filter;
    this.#seed = seed;
    this.#pacer = pacer;
    this.#answersMin = answersMin;
  }

  /** Number of elements added and not deleted. */
  get elements(): number {
    return this.#elements;
  }

  /** Adds members number `first` to `first + count - 1`. Passes on errors of `add`. */
  async insert(first: number, count: number): Promise<Timing> {
    const { filter } = this;
    const added = await this.#run(this.#members(first), { count, stride: 1 }, (ids) => {
      for (const id of ids) {
        filter.add(id);
        this.#elements++;
      }
      return 0;
    });
    return this.#settle(added);
  }

  /**
   * Queries members from `first` on, evenly spread over `count` of them; `every` is 2 if every second one was deleted.
   */
  async askMembers(first: number, count: number, every = 1): Promise<Answers> {
    const available = Math.ceil((count - first) / every);
    const asked = Math.min(available, ANSWERS_MAX);
    const stride = every * Math.floor(available / asked);
    return this.#run(this.#members(first), { count: asked, stride }, this.#ask());
  }

  /** @param ask - queried instead of the filter */
  async askAbsent(elements: number, ask?: Ask): Promise<Answers> {
    const count = Math.min(Math.max(elements, this.#answersMin), ANSWERS_MAX);
    const work = ask === undefined ? this.#ask() : countOf(ask);
    return this.#run(new IdStream(this.#seed + ABSENT_SEED_OFFSET), { count, stride: 1 }, work);
  }

  /** Deletes every second of the first `count` members. Positives are the deletions that the filter performed. */
  async deleteHalf(count: number): Promise<Answers> {
    const filter = this.filter as ErasableFilter;
    const deletes = await this.#run(
      this.#members(0),
      { count: Math.ceil(count / 2), stride: 2 },
      countOf((id) => filter.delete(id)),
    );
    this.#elements -= deletes.positives;
    return this.#settle(deletes);
  }

  /** A tree that collects its changes writes the last ones when its size is read; that time belongs to the changes. */
  #settle(answers: Answers): Answers {
    const startedAt = processorMs();
    const sizeBytes = this.filter.memoryBytes;
    const addedMs = sizeBytes >= 0 ? processorMs() - startedAt : 0;
    return { ...answers, nsEach: answers.nsEach + (addedMs * 1e6) / answers.count };
  }

  #members(first: number): IdStream {
    const members = new IdStream(this.#seed);
    members.skip(first);
    return members;
  }

  #ask(): Operation {
    const { filter } = this;
    return countOf((id) => filter.has(id));
  }

  async #run(ids: IdStream, { count, stride }: { count: number; stride: number }, work: Operation): Promise<Answers> {
    let positives = 0;
    let totalMs = 0;
    let longestPauseMs = 0;
    for (let left = count; left > 0;) {
      const batch = ids.take(left, stride);
      const startedAt = processorMs();
      positives += work(batch);
      const batchMs = processorMs() - startedAt;
      totalMs += batchMs;
      longestPauseMs = Math.max(longestPauseMs, batchMs);
      left -= batch.length;
      await this.#pacer.pause();
    }
    return { count, positives, nsEach: (totalMs * 1e6) / count, longestPauseMs };
  }
}

function countOf(ask: Ask): Operation {
  return (ids) => {
    let positives = 0;
    for (const id of ids) if (ask(id)) positives++;
    return positives;
  };
}

export function isErasable(filter: MembershipFilter): filter is ErasableFilter {
  return 'delete' in filter;
}

import type { MembershipFilter, ErasableFilter } from '../../../filters/membership-filter.ts';
import type { Pacer } from '../../context.ts';
import { ABSENT_SEED_OFFSET, IdStream } from './id-stream.ts';

/** More answers than this measure a rate of 0.01 no better than to a hundredth of it. */
const ANSWERS_MAX = 1_000_000;
const ANSWERS_MIN = 200_000;

/** How much processor time a run of equal operations took, garbage collection included. */
export interface Timing {
  readonly count: number;
  readonly nsEach: number;
  /** The longest batch of 4096: a filter that lays itself out anew stops the world for so long. */
  readonly longestPauseMs: number;
}

export interface Answers extends Timing {
  /** How many ids were "perhaps in". */
  readonly positives: number;
}

type Operation = (ids: readonly Uint8Array[]) => number;

/** An answer to "was this added?". */
export type Ask = (id: Uint8Array) => boolean;

/** The processor time of this process: unlike the clock it stands still while the machine does something else. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Does one thing to many ids of one filter, and takes the time: only of the filter, not of making the ids. */
export class MeasuredFilter {
  readonly filter: MembershipFilter;
  readonly #seed: number;
  readonly #pacer: Pacer;
  /** A Bloom filter cannot count its elements. */
  #elements = 0;

  constructor(filter: MembershipFilter, seed: number, pacer: Pacer) {
    this.filter = filter;
    this.#seed = seed;
    this.#pacer = pacer;
  }

  /** Added and not deleted. */
  get elements(): number {
    return this.#elements;
  }

  /** Adds members number `first` to `first + count - 1`. An error of `add` goes through. */
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

  /** Asks for members from `first` on, evenly spread over `count` of them; `every` second only where half is left. */
  async askMembers(first: number, count: number, every = 1): Promise<Answers> {
    const available = Math.ceil((count - first) / every);
    const asked = Math.min(available, ANSWERS_MAX);
    const stride = every * Math.floor(available / asked);
    return this.#run(this.#members(first), { count: asked, stride }, this.#ask());
  }

  /** @param ask - what answers instead of the filter */
  async askAbsent(elements: number, ask?: Ask): Promise<Answers> {
    const count = Math.min(Math.max(elements, ANSWERS_MIN), ANSWERS_MAX);
    const work = ask === undefined ? this.#ask() : countOf(ask);
    return this.#run(new IdStream(this.#seed + ABSENT_SEED_OFFSET), { count, stride: 1 }, work);
  }

  /** Deletes every second of the first `count` members. Positives are the deletes that the filter carried out. */
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

  /** A tree that gathers its changes writes the last of them when its size is asked for; that belongs to them. */
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

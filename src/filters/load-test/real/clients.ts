import { LdmError } from '../../../core/errors.ts';
import { ID_BYTES } from '../../../core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../../core/ldm/random-ids.ts';
import type { Found, Way, Ways } from './ways.ts';

/** What clients look for: half of it is in a domain, and half in none. */
export interface Sought {
  /** Chunks that clients look for again and again, each in one domain. */
  readonly present: readonly Uint8Array[];
  readonly seed: number;
}

/** What the look-ups of all clients took. */
export interface ClientFigures {
  readonly lookUps: number;
  readonly questions: number;
  /** Look-ups that led to no answer, because a domain gave none before the deadline. */
  readonly unanswered: number;
  /** Of single look-ups, in ms, in ascending order. */
  readonly timesMs: Float64Array;
  /** From the first question to the last answer. */
  readonly wallMs: number;
}

const TWO_POW_MINUS_32 = 2 ** -32;
const PRESENT_SHARE = 0.5;

/** What a client looks for, one after the other. Every client has random numbers of its own, the same for each way. */
class Client {
  readonly #nextWord: () => number;
  readonly #present: readonly Uint8Array[];

  constructor({ seed, present }: Sought, number: number) {
    this.#nextWord = randomWords(seed + number);
    this.#present = present;
  }

  next(): { readonly id: Uint8Array; readonly expected: Found } {
    const [kind, which] = [this.#nextWord() * TWO_POW_MINUS_32, this.#nextWord() * TWO_POW_MINUS_32];
    if (kind < PRESENT_SHARE)
      return { id: this.#present[Math.floor(which * this.#present.length)]!, expected: 'found' };
    const id = new Uint8Array(ID_BYTES);
    fillRandomIds(id, this.#nextWord);
    return { id, expected: 'absent' };
  }
}

/**
 * Lets clients look for chunks, each one after the other and without a pause, all at the same time.
 * @throws LdmError if a domain gives a wrong answer: the figures would be worth nothing
 */
export async function runClients(
  ways: Pick<Ways, 'lookUp' | 'questionCount'>,
  way: Way,
  sought: Sought,
  load: { readonly clients: number; readonly lookUpsEach: number; readonly signal: AbortSignal | undefined },
): Promise<ClientFigures> {
  const times: number[] = [];
  let unanswered = 0;
  const questionsBefore = ways.questionCount;
  const run = async (number: number): Promise<void> => {
    const client = new Client(sought, number);
    for (let left = load.lookUpsEach; left > 0; left -= 1) {
      load.signal?.throwIfAborted();
      const { id, expected } = client.next();
      const startedAt = performance.now();
      const found = await ways.lookUp(way, id, number);
      times.push(performance.now() - startedAt);
      if (found === 'unknown') unanswered += 1;
      else if (found !== expected)
        throw new LdmError(`the answer to a look-up (${way}) is ${found}, and ${expected} is right`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: load.clients }, async (_, number) => run(number)));
  const wallMs = performance.now() - startedAt;
  const timesMs = Float64Array.from(times).sort();
  return { lookUps: times.length, questions: ways.questionCount - questionsBefore, unanswered, timesMs, wallMs };
}

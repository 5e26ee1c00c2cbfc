import { ID_BYTES } from '../../core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../core/ldm/random-ids.ts';
import type { DomainStore } from './domain-store.ts';

/** How users find the domain of a chunk: one domain after the other, or only those whose plane says "perhaps". */
type Strategy = 'in-turn' | 'by-filter';

interface QueueOptions {
  readonly users: number;
  readonly lookUpsPerUser: number;
  /** Mean of the simulated service time of a question, exponentially distributed. */
  readonly serviceMs: number;
  /** Number of questions that a domain serves at the same time; others wait in order of arrival. */
  readonly servedAtOnce: number;
  readonly seed: number;
}

/** Times of look-ups, waiting included. */
export interface LoadFigures {
  readonly questionsPerLookUp: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

interface User {
  readonly nextWord: () => number;
  readonly id: Uint8Array;
  /** The domains that are still to be asked in this look-up. */
  toAsk: number[];
  startedMs: number;
  nowMs: number;
  lookUpsLeft: number;
}

const TWO_POW_MINUS_32 = 2 ** -32;
/** Half of the chunks that are looked for are in a domain, and half in none. */
const PRESENT_SHARE = 0.5;

/**
 * Lets users look for chunks without a pause, in simulated time: a question takes the measured time of the exact look-up
 * in the filter of the domain and a random service time. Questions are processed in the order of their arrival, so that
 * each starts when one of the places of the domain is free. Every user has random numbers of its own: the look-ups and
 * service times are the same in every run with the seed, and for both strategies the same ids are looked for.
 */
export function simulateLoad(store: DomainStore, strategy: Strategy, options: QueueOptions): LoadFigures {
  const users = Array.from({ length: options.users }, (_, index) => makeUser(index, options));
  const freeAt = Array.from({ length: store.domainCount }, () => new Float64Array(options.servedAtOnce));
  const times: number[] = [];
  let questions = 0;
  for (const [index, user] of users.entries()) beginLookUp(store, strategy, user, index);
  for (;;) {
    const index = earliest(users);
    if (index < 0) break;
    const user = users[index]!;
    const domain = user.toAsk.shift();
    const isFound = domain !== undefined && ask(store, domain, user, freeAt[domain]!, options.serviceMs);
    if (domain !== undefined) questions++;
    if (!isFound && user.toAsk.length > 0) continue;
    times.push(user.nowMs - user.startedMs);
    if (--user.lookUpsLeft > 0) beginLookUp(store, strategy, user, index);
  }
  return figuresOf(times, questions);
}

function makeUser(index: number, { seed, lookUpsPerUser }: QueueOptions): User {
  return {
    nextWord: randomWords(seed + index),
    id: new Uint8Array(ID_BYTES),
    toAsk: [],
    startedMs: 0,
    nowMs: 0,
    lookUpsLeft: lookUpsPerUser,
  };
}

/** Chooses a chunk, and the domains to ask for it: all of them from the user's own on, or the candidates. */
function beginLookUp(store: DomainStore, strategy: Strategy, user: User, index: number): void {
  const share = (): number => user.nextWord() * TWO_POW_MINUS_32;
  const [kind, domainShare, idShare] = [share(), share(), share()];
  if (kind < PRESENT_SHARE) store.copyId(domainShare, idShare, user.id);
  else fillRandomIds(user.id, user.nextWord);
  user.startedMs = user.nowMs;
  if (strategy === 'in-turn') {
    user.toAsk = Array.from({ length: store.domainCount }, (_, step) => (index + step) % store.domainCount);
    return;
  }
  const startedAt = performance.now();
  user.toAsk = store.candidates(user.id);
  user.nowMs += performance.now() - startedAt;
}

/** Waits for a place, is served, and returns the answer. */
function ask(store: DomainStore, domain: number, user: User, freeAt: Float64Array, serviceMs: number): boolean {
  let place = 0;
  for (let other = 1; other < freeAt.length; other++) if (freeAt[other]! < freeAt[place]!) place = other;
  const startedAt = performance.now();
  const isFound = store.has(domain, user.id);
  const lookUpMs = performance.now() - startedAt;
  // 1 - share is above 0, whose logarithm is finite.
  const randomMs = -Math.log(1 - user.nextWord() * TWO_POW_MINUS_32) * serviceMs;
  user.nowMs = Math.max(user.nowMs, freeAt[place]!) + lookUpMs + randomMs;
  freeAt[place] = user.nowMs;
  return isFound;
}

/** The user whose next question arrives first, or -1 if all are done. */
function earliest(users: readonly User[]): number {
  let found = -1;
  for (let index = 0; index < users.length; index++) {
    if (users[index]!.lookUpsLeft === 0) continue;
    if (found < 0 || users[index]!.nowMs < users[found]!.nowMs) found = index;
  }
  return found;
}

function figuresOf(times: readonly number[], questions: number): LoadFigures {
  const sorted = Float64Array.from(times).sort();
  return {
    questionsPerLookUp: questions / times.length,
    meanMs: times.reduce((sum, ms) => sum + ms, 0) / times.length,
    p50Ms: quantileOf(sorted, 0.5),
    p95Ms: quantileOf(sorted, 0.95),
  };
}

/** The smallest value that this share of all values does not exceed. `sorted`: at least one value, in ascending order. */
export function quantileOf(sorted: Float64Array, share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1]!;
}

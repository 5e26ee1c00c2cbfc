import { LdmError } from '../../../core/errors.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Domains } from '../../../realm/domains/domains.ts';
import { lookUp } from '../../../realm/verbs/locate/look-up.ts';

/**
 * How a client looks for a chunk:
 *
 * - `in-turn`: exact questions, domain after domain from the client's own on, until one has it.
 * - `by-filter`: exact questions to the domains whose planes say maybe, at the same time. If none has the chunk, it counts
 *   as absent, as for a backup, which then stores it.
 * - `locate`: as `ldm locate`: before a chunk is said to be absent, all domains are asked.
 * - `locate-cached`: the same with the cache of answers.
 */
export type Way = 'in-turn' | 'by-filter' | 'locate' | 'locate-cached';

/** Longer than any queue of this test. */
const DEADLINE_MS = 120_000;

/** What a look-up has found. `unknown`: a domain gave no answer. */
export type Found = 'found' | 'absent' | 'unknown';

/** Looks chunks up in the domains of a realm. All clients share the planes, and each question has a connection. */
export class Ways {
  readonly #domains: Domains;
  readonly #opened: OpenedState;
  /** In the order in which they are asked. */
  readonly #order: Domains['all'];

  constructor(domains: Domains, opened: OpenedState, names: readonly string[]) {
    this.#domains = domains;
    this.#opened = opened;
    this.#order = names.map((name) => domains.all.find(({ member }) => member.name === name)!);
  }

  /** How many chunks domains were asked about so far. */
  get questionCount(): number {
    return this.#domains.questionCount;
  }

  /** `client`: its number decides which domain is its own. */
  async lookUp(way: Way, id: Uint8Array, client: number): Promise<Found> {
    if (way === 'in-turn') return await this.#inTurn(id, client);
    if (way === 'by-filter') return await this.#byFilter(id);
    const options = { ask: 'maybe', deadlineMs: DEADLINE_MS, usesMemory: way === 'locate-cached' } as const;
    const domains = way === 'locate-cached' ? this.#domains : new WithoutCache(this.#domains);
    return (await lookUp(this.#opened, domains, [id], options))[0]!.verdict;
  }

  async #inTurn(id: Uint8Array, client: number): Promise<Found> {
    const { length } = this.#order;
    let found: Found = 'absent';
    for (let step = 0; step < length; step += 1) {
      const answer = await this.#ask(this.#order[(client + step) % length]!, id);
      if (answer === 'found') return 'found';
      if (answer === 'unknown') found = 'unknown';
    }
    return found;
  }

  async #byFilter(id: Uint8Array): Promise<Found> {
    const [candidates = []] = await this.#domains.candidates([id]);
    const answers = await Promise.all(candidates.map(async (domain) => this.#ask(domain, id)));
    if (answers.includes('found')) return 'found';
    return answers.includes('unknown') ? 'unknown' : 'absent';
  }

  async #ask(domain: Domains['all'][number], id: Uint8Array): Promise<Found> {
    try {
      const [answer] = await this.#domains.ask(domain, id, DEADLINE_MS);
      return answer === undefined ? 'absent' : 'found';
    } catch (error) {
      if (error instanceof LdmError) return 'unknown';
      throw error;
    }
  }
}

/** The domains of a membership with a cache, as if it had none. */
class WithoutCache {
  readonly #domains: Domains;

  constructor(domains: Domains) {
    this.#domains = domains;
  }

  get all(): Domains['all'] {
    return this.#domains.all;
  }

  get unknown(): Domains['unknown'] {
    return this.#domains.unknown;
  }

  readonly verdicts: Domains['verdicts'] = async (ids) => this.#domains.verdicts(ids);
  readonly ask: Domains['ask'] = async (...question) => this.#domains.ask(...question);
  readonly answers: Domains['answers'] = async () => undefined;
}

import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { CachedAnswers } from '../../agents/cached-answers.ts';
import type { KnownChunk } from '../../agents/peer.ts';
import type { PlaneVerdict } from '../../planes/held-planes.ts';
import type { Domains } from '../../domains/domains.ts';
import type { Domain } from '../../domains/open-peer.ts';
import { answerOf } from '../../domains/repository-peer.ts';

/** Where a chunk is in another domain. */
interface ForeignPlace {
  readonly domain: Domain;
  readonly place: KnownChunk;
  /** Whether the domain said so up to 10 minutes ago and was not asked now. The chunk may be gone since. */
  readonly isRemembered: boolean;
}

/** What the plane of a domain has said about a chunk. */
export interface PlaneAnswer {
  readonly domain: Domain;
  readonly said: PlaneVerdict;
  /** Whether the domain has published that none of its files in the range has the chunk. */
  readonly isLeftOut: boolean;
}

/** What is known about a chunk in the realm. */
export interface LookedUp {
  readonly id: Uint8Array;
  /** In this repository. */
  readonly own: KnownChunk | undefined;
  readonly elsewhere: readonly ForeignPlace[];
  /** The names of domains that may have it and gave no exact answer, with the reasons. */
  readonly unanswered: ReadonlyMap<string, string>;
  /** `absent` is certain: every domain has said so exactly. */
  readonly verdict: 'found' | 'absent' | 'unknown';
  /** Of all other domains, with `explains`. */
  readonly planes: readonly PlaneAnswer[] | undefined;
}

export interface LookUpOptions {
  /**
   * `maybe`: asks the domains whose planes say maybe, and those whose planes are not up to date. `all`: asks every domain
   * about every chunk, as the paper describes it.
   */
  readonly ask: 'maybe' | 'all';
  /** Also tells what the planes say, and reads them for that even if all domains are asked. */
  readonly explains?: boolean | undefined;
  /** How long to wait for each exact answer. */
  readonly deadlineMs: number;
  /**
   * Uses what domains have answered lately, if the realm has a cache, for chunks that they have. That a chunk is absent is
   * always asked. Nothing that is to rely on a chunk may use this.
   */
  readonly usesMemory?: boolean | undefined;
  /** Domains that are asked only about chunks that no other domain has. */
  readonly isLeftOut?: ((domain: Domain, id: Uint8Array) => boolean) | undefined;
}

/** The domains that a look-up can query. */
export type Askable = Pick<Domains, 'all' | 'unknown' | 'verdicts' | 'ask' | 'answers'>;

/** How many questions a domain gets at once. */
const IDS_PER_QUESTION = 1000;

/**
 * Looks chunks up in the whole realm: the filter of this repository and its chain first, then the planes of the other
 * domains, then exact questions to those that may have a chunk, all domains at a time.
 */
export async function lookUp(
  opened: OpenedState,
  domains: Askable,
  ids: readonly Uint8Array[],
  options: LookUpOptions,
): Promise<LookedUp[]> {
  const results = ids.map((id) => new Result(id, opened));
  const answers = await domains.answers();
  const memory = options.usesMemory === true ? answers : undefined;
  const questions = new Questions();
  const asksAll = options.ask === 'all';
  const verdicts = asksAll && options.explains !== true ? undefined : await domains.verdicts(ids);
  for (const [index, result] of results.entries()) {
    const said = verdicts?.[index];
    const isLeftOut = (domain: Domain): boolean => options.isLeftOut?.(domain, result.id) === true;
    if (options.explains === true)
      result.planes = domains.all.map((domain, nth) => ({ domain, said: said![nth]!, isLeftOut: isLeftOut(domain) }));
    const maybe = asksAll ? domains.all : domains.all.filter((_, nth) => said?.[nth] !== 'no');
    const asked = maybe.filter((domain) => !isLeftOut(domain));
    const remembered = await Promise.all(asked.map(async ({ id }) => memory?.recall(id, result.id)));
    for (const [nth, domain] of asked.entries()) {
      const answer = remembered[nth];
      if (answer === undefined) questions.add(domain, result);
      else if (answer.place !== undefined) result.elsewhere.push({ domain, place: answer.place, isRemembered: true });
    }
  }
  const ask = async ([domain, asked]: [Domain, readonly Result[]]): Promise<void> =>
    askDomain({ domains, answers, deadlineMs: options.deadlineMs }, domain, asked);
  await Promise.all(questions.byDomain().map(ask));
  // A plane or a range may lack what its domain has stored since, and who did not have it a moment ago may have it now.
  const late = new Questions();
  for (const result of results.filter((each) => !each.isFound)) {
    for (const domain of domains.all) if (!questions.has(domain, result)) late.add(domain, result);
  }
  await Promise.all(late.byDomain().map(ask));
  return results.map((result) => result.finish(domains.unknown));
}

class Questions {
  readonly #questions = new Map<Domain, Set<Result>>();

  add(domain: Domain, result: Result): void {
    this.#questions.set(domain, (this.#questions.get(domain) ?? new Set()).add(result));
  }

  has(domain: Domain, result: Result): boolean {
    return this.#questions.get(domain)?.has(result) === true;
  }

  byDomain(): [Domain, readonly Result[]][] {
    return [...this.#questions].map(([domain, asked]) => [domain, [...asked]]);
  }
}

interface Asking {
  readonly domains: Askable;
  readonly answers: CachedAnswers | undefined;
  readonly deadlineMs: number;
}

async function askDomain(
  { domains, answers: memory, deadlineMs }: Asking,
  domain: Domain,
  asked: readonly Result[],
): Promise<void> {
  for (let first = 0; first < asked.length; first += IDS_PER_QUESTION) {
    const part = asked.slice(first, first + IDS_PER_QUESTION);
    try {
      const answers = await domains.ask(domain, Buffer.concat(part.map(({ id }) => id)), deadlineMs);
      for (const [index, answer] of answers.entries()) {
        if (answer !== undefined) part[index]!.elsewhere.push({ domain, place: answer, isRemembered: false });
      }
      if (memory === undefined) continue;
      await Promise.all(answers.map(async (answer, index) => memory.remember(domain.id, part[index]!.id, answer)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      for (const result of asked.slice(first)) result.unanswered.set(domain.member.name, reason);
      return;
    }
  }
}

class Result {
  readonly id: Uint8Array;
  readonly own: KnownChunk | undefined;
  readonly elsewhere: ForeignPlace[] = [];
  readonly unanswered = new Map<string, string>();
  planes: readonly PlaneAnswer[] | undefined;

  constructor(id: Uint8Array, opened: OpenedState) {
    this.id = id;
    this.own = answerOf(opened, id, 0);
    // What is lost of the index may have listed it.
    if (this.own === undefined && !opened.damage.isWhole) this.unanswered.set('here', 'the repository is damaged');
  }

  get isFound(): boolean {
    return this.own !== undefined || this.elsewhere.length > 0;
  }

  /** `unknown`: domains that cannot be asked, because their records cannot be read. */
  finish(unknown: ReadonlyMap<string, string>): LookedUp {
    const { id, own, elsewhere, isFound, planes } = this;
    const unanswered = isFound ? this.unanswered : new Map([...this.unanswered, ...unknown]);
    const verdict = isFound ? 'found' : unanswered.size > 0 ? 'unknown' : 'absent';
    return { id, own, elsewhere, unanswered, verdict, planes };
  }
}

import { CorruptDataError } from '../../core/errors.ts';
import { JsonReader, parseJson } from '../../core/format/json-reader.ts';
import { answerOf } from './agent-answers.ts';
import { EXPIRY_SECONDS } from './answer-cache.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { Answer, KnownChunk } from './peer.ts';

const MAX_BYTES = 4096;

/** What a domain has answered: at most 10 minutes ago that it has a chunk, or at most 30 seconds ago that it has not. */
type RememberedAnswer = { readonly place: KnownChunk | undefined };

/**
 * The exact answers of domains, kept for a while for all processes that use the cache. They were true when they were given.
 * Since then, a chunk may have come or gone: nothing may rely on them.
 */
export class CachedAnswers {
  readonly #cache: AnswerCache;

  constructor(cache: AnswerCache) {
    this.#cache = cache;
  }

  /** Undefined: nothing is known. */
  async recall(domainId: string, id: Uint8Array): Promise<RememberedAnswer | undefined> {
    const bytes = await this.#cache.get(nameOf(domainId, id));
    if (bytes === undefined) return undefined;
    try {
      const value = parseJson(bytes, { maxBytes: MAX_BYTES, what: 'a cached answer' });
      return { place: value === null ? undefined : answerOf(new JsonReader(value, 'a cached answer')) };
    } catch (error) {
      // Of another version of the program.
      if (error instanceof CorruptDataError) return undefined;
      throw error;
    }
  }

  /** What no snapshot needs may soon be gone, so that is not kept. */
  async remember(domainId: string, id: Uint8Array, answer: Answer): Promise<void> {
    if (answer !== undefined && answer.state !== 'live') return;
    const seconds = answer === undefined ? EXPIRY_SECONDS.absent : EXPIRY_SECONDS.present;
    await this.#cache.set(nameOf(domainId, id), Buffer.from(JSON.stringify(answer ?? null)), seconds);
  }
}

function nameOf(domainId: string, id: Uint8Array): string {
  return `answer:${domainId}:${Buffer.from(id).toString('hex')}`;
}

import { CancelledError, LdmError } from '../../core/errors.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { OpenedChunkSource } from '../../core/session/chunk-source.ts';
import type { Domains } from '../domains/domains.ts';
import type { Domain } from '../domains/open-peer.ts';
import { readRealm } from '../domains/realm.ts';
import { connectDomains } from '../domains/realm-access.ts';

/**
 * Opens the other domains of the realm of a repository, to get chunks from them. Those whose planes say that they may have
 * a chunk are asked first, and then the others: a plane may lack what its domain has stored since.
 * @throws RefusedError if the repository has not joined a realm
 * @throws CoordinatorError if the coordinator cannot be reached
 */
export async function openDomainSource(context: OperationContext): Promise<OpenedChunkSource> {
  const joined = await withRepository(context, 'read', async (repository) => readRealm(repository));
  const { domains, close } = await connectDomains(context, joined);
  const source = new DomainSource(domains);
  return { fetch: async (id, _kind, except) => source.fetch(id, except), close };
}

/** A domain that fails so often in a row is not asked any more: each time may take a deadline. */
const FAILURES_MAX = 3;

class DomainSource {
  readonly #domains: Domains;
  /** How often in a row each could not be asked. */
  readonly #failures = new Map<Domain, number>();

  constructor(domains: Domains) {
    this.#domains = domains;
  }

  async fetch(id: Uint8Array, except: ReadonlySet<string> = new Set()): ReturnType<OpenedChunkSource['fetch']> {
    const [first = []] = await this.#domains.candidates([id]);
    const others = this.#domains.all.filter((domain) => !first.includes(domain));
    let failure: LdmError | undefined;
    for (const domain of [...first, ...others]) {
      const { name } = domain.member;
      const failedCount = this.#failures.get(domain) ?? 0;
      if (except.has(name) || failedCount >= FAILURES_MAX) continue;
      try {
        const bytes = await this.#domains.readChunk(domain.id, id);
        this.#failures.delete(domain);
        if (bytes !== undefined) return { bytes, from: name };
      } catch (error) {
        if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
        this.#failures.set(domain, failedCount + 1);
        failure = error;
      }
    }
    // A domain that could not be asked may have it.
    if (failure !== undefined) throw failure;
    return undefined;
  }
}

import type { Repository } from '../../core/repository/repository.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { Domains } from './domains.ts';
import { withRealm } from './realm.ts';
import type { OpenRealm } from './realm.ts';

/**
 * Connects to the other domains of the realm of a repository, runs `work`, and ends the connections. Planes are not loaded.
 * @throws RefusedError if the repository has not joined a realm
 * @throws CoordinatorError if the coordinator cannot be reached
 */
export async function withDomains<T>(
  context: OperationContext,
  repository: Repository,
  work: (domains: Domains, realm: OpenRealm) => Promise<T>,
): Promise<T> {
  return await withRealm(repository, async (realm) => {
    const domains = new Domains(context, realm);
    try {
      await domains.readRecords();
      return await work(domains, realm);
    } finally {
      await domains.close();
    }
  });
}

/** The name of a domain, or the beginning of its id if it has left the realm. */
export function nameOfDomain(domains: Domains, domainId: string): string {
  return domains.all.find(({ id }) => id === domainId)?.member.name ?? domainId.slice(0, 8);
}

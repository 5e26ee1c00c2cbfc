import type { Repository } from '../../core/repository/repository.ts';
import type { Caller } from '../../core/session/caller.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { Domains } from './domains.ts';
import { connectRealm, readRealm, withRealm } from './realm.ts';
import type { JoinedRealm, OpenRealm } from './realm.ts';

/** A realm and its other domains, connected. The caller closes the connections. */
export interface ConnectedDomains {
  readonly realm: OpenRealm;
  readonly domains: Domains;
  readonly close: () => Promise<void>;
}

/** The way of an opened repository to the other domains of its realm. */
export class RealmAccess {
  readonly context: OperationContext;
  readonly repository: Repository;

  constructor(context: OperationContext, repository: Repository) {
    this.context = context;
    this.repository = repository;
  }

  get caller(): Caller {
    return this.context;
  }

  /**
   * Connects to the other domains, runs `work`, and ends the connections. Planes are not loaded.
   * @throws RefusedError if the repository has not joined a realm
   * @throws CoordinatorError if the coordinator cannot be reached
   */
  async with<T>(work: (domains: Domains, realm: OpenRealm) => Promise<T>): Promise<T> {
    return await withRealm(this.repository, async (realm) => {
      const domains = new Domains(this.context, realm);
      try {
        await domains.readRecords();
        return await work(domains, realm);
      } finally {
        await domains.close();
      }
    });
  }

  /** The same for connections that last. */
  async connect(): Promise<ConnectedDomains> {
    return await connectDomains(this.context, await readRealm(this.repository));
  }
}

/** @throws CoordinatorError if the coordinator cannot be reached */
export async function connectDomains(context: OperationContext, joined: JoinedRealm): Promise<ConnectedDomains> {
  const realm = await connectRealm(joined);
  const domains = new Domains(context, realm);
  const close = async (): Promise<void> => {
    await domains.close();
    await realm.coordinator.close();
  };
  try {
    await domains.readRecords();
  } catch (error) {
    await close();
    throw error;
  }
  return { realm, domains, close };
}

/** The name of a domain, or the beginning of its id if it has left the realm. */
export function nameOfDomain(domains: Domains, domainId: string): string {
  return domains.all.find(({ id }) => id === domainId)?.member.name ?? domainId.slice(0, 8);
}

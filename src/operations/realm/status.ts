import { hostname } from 'node:os';
import type { PublishedState } from '../../format/domain-records.ts';
import { LdmError } from '../../errors.ts';
import type { Repository } from '../../repository/repository.ts';
import { withRepository } from '../context.ts';
import type { OperationContext } from '../context.ts';
import { Domains } from './domains.ts';
import type { Domain } from './domains.ts';
import { announcedEndpoint, mayAgentRun } from './open-peer.ts';
import { unpublishedFlips } from './publish.ts';
import { RepositoryPeer } from './repository-peer.ts';
import { withRealm } from './realm.ts';
import type { OpenRealm } from './realm.ts';

/** A member of the realm, as this machine sees it. */
export interface DomainStatus {
  readonly domainId: string;
  readonly name: string;
  readonly host: string;
  readonly place: string;
  readonly isSelf: boolean;
  /** `agent`: its agent answers. `repository`: no agent, but the repository could be opened. */
  readonly reachedBy: 'agent' | 'repository' | undefined;
  /** Why it was not reached, or why a record of it cannot be used. */
  readonly problem: string | undefined;
  readonly published: PublishedState | undefined;
  /** Whether its plane could be loaded as it was published. Of the own domain: whether everything is published. */
  readonly isCurrent: boolean;
  /** Of the own domain: how many positions have changed since it published. */
  readonly unpublished: number | undefined;
}

export interface RealmStatus {
  readonly realmId: string;
  readonly coordinator: string;
  readonly domains: readonly DomainStatus[];
  /** Records that no member of the realm has written, or that are damaged: domain id and reason. */
  readonly damaged: ReadonlyMap<string, string>;
}

const DEADLINE_MS = 5000;

/**
 * Lists the members of the realm of a repository, whether they can be reached, and what they have published.
 * @throws RefusedError if the repository has not joined a realm
 * @throws CoordinatorError
 */
export async function realmStatus(context: OperationContext): Promise<RealmStatus> {
  return await withRepository(context, 'read', async (repository) =>
    withRealm(repository, async (realm) => {
      const domains = new Domains(context, realm);
      try {
        await domains.readRecords();
        await domains.loadPlanes();
        const others = await Promise.all(domains.all.map(async (domain) => statusOf(domains, domain)));
        const { realmId, coordinator } = realm;
        const { damaged } = await realm.records.members();
        const own = await ownStatus(context, repository, realm);
        return { realmId, coordinator: coordinator.location, domains: [own, ...others], damaged };
      } finally {
        await domains.close();
      }
    }),
  );
}

async function statusOf(domains: Domains, domain: Domain): Promise<DomainStatus> {
  const { id: domainId, member, published } = domain;
  const known = { domainId, ...member, isSelf: false, published, unpublished: undefined };
  const isCurrent = domains.isCurrent(domain);
  try {
    // An empty question: whether it answers.
    await domains.ask(domain, new Uint8Array(), DEADLINE_MS);
    const reachedBy = (await domains.peerOf(domain.id)) instanceof RepositoryPeer ? 'repository' : 'agent';
    return { ...known, isCurrent, reachedBy, problem: domain.problem };
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    return { ...known, isCurrent, reachedBy: undefined, problem: domain.problem ?? error.message };
  }
}

async function ownStatus(
  { backend }: OperationContext,
  repository: Repository,
  realm: OpenRealm,
): Promise<DomainStatus> {
  const { domainId, membership, records } = realm;
  const member = (await records.members()).members.get(domainId)?.value;
  const published = (await records.stateToReplace(domainId))?.value;
  const endpoint = await announcedEndpoint(realm, domainId);
  const hasAgent = endpoint !== undefined && (await mayAgentRun(realm, endpoint));
  const unpublished = await unpublishedFlips(repository, realm);
  return {
    domainId,
    name: membership.name,
    host: member?.host ?? hostname(),
    place: member?.place ?? backend.location,
    isSelf: true,
    reachedBy: hasAgent ? 'agent' : 'repository',
    problem: member === undefined ? 'its record is gone: join the realm again' : undefined,
    published,
    isCurrent: unpublished === 0,
    unpublished,
  };
}

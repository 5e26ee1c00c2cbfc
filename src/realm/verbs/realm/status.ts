import { hostname } from 'node:os';
import type { PublishedState } from '../../formats/domain-records.ts';
import { LdmError } from '../../../core/errors.ts';
import type { PlaneFiles } from '../../agents/peer.ts';
import { newestSequence } from '../../planes/plane-names.ts';
import { isSamePlane } from '../../planes/plane-state.ts';
import type { PlaneState } from '../../planes/plane-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import { withRepository } from '../../../core/session/session.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { Domains } from '../../domains/domains.ts';
import type { Domain } from '../../domains/open-peer.ts';
import { announcedEndpoint, mayAgentRun } from '../../domains/open-peer.ts';
import { unpublishedFlips } from '../../domains/publish.ts';
import { planeFilesOf } from '../../domains/plane-files-of.ts';
import { cacheStatus } from '../../domains/realm-cache.ts';
import type { CacheStatus } from '../../domains/realm-cache.ts';
import { RepositoryPeer } from '../../domains/repository-peer.ts';
import { withRealm } from '../../domains/realm.ts';
import { whyNotOriginal } from '../../domains/own-place.ts';
import type { OpenRealm } from '../../domains/realm.ts';

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
  /**
   * Whether its plane could be loaded as it was published, by the agent of this repository or now. For this domain:
   * whether everything is published.
   */
  readonly isCurrent: boolean;
  /** Why the plane that it has published cannot be loaded. */
  readonly planeProblem: string | undefined;
  /** Whether it is publishing a further plane, or was when its process ended. False also if that cannot be seen. */
  readonly isUnderWay: boolean;
  /** For this domain: how many positions have changed since it published. */
  readonly unpublished: number | undefined;
  /**
   * Of another domain: the state of the plane that the agent of this repository has of it. Undefined: it is not known.
   */
  readonly held: PlaneState | undefined;
  /** How many publications `held` is behind what the domain has published. Undefined: it is not known. */
  readonly behind: number | undefined;
}

export interface RealmStatus {
  readonly realmId: string;
  /** As it was given to `joinRealm`. */
  readonly coordinator: string;
  /** Undefined: the membership names none. */
  readonly cache: CacheStatus | undefined;
  readonly domains: readonly DomainStatus[];
  /**
   * Whether the agent of this repository says which planes it has. Without it, each command reads the planes itself.
   */
  readonly hasAgentPlanes: boolean;
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
        // Before the records, so that the agent cannot have planes that are newer than these.
        const planes = await domains.askOwnAgent(new Uint8Array());
        const held = new Map(planes?.map(({ domainId, state }) => [domainId, state]));
        await readPlanes(domains, held);
        const others = await Promise.all(domains.all.map(async (domain) => statusOf(realm, domains, domain, held)));
        const { realmId, membership } = realm;
        const { damaged } = await realm.records.members();
        const own = await ownStatus(context, repository, realm);
        return {
          realmId,
          coordinator: membership.coordinator,
          cache: await cacheStatus(realm),
          domains: [own, ...others],
          hasAgentPlanes: planes !== undefined,
          damaged,
        };
      } finally {
        await domains.close();
      }
    }),
  );
}

/** Reads the records, and the planes that the agent does not have as they are published. */
async function readPlanes(domains: Domains, held: ReadonlyMap<string, PlaneState>): Promise<void> {
  const isMissing = (domain: Domain): boolean =>
    behindBy(held.get(domain.id), domain.published) !== 0 && !domains.isCurrent(domain);
  await domains.readRecords();
  await domains.loadPlanes(domains.all.filter(isMissing));
  // A domain that publishes meanwhile may remove the files that its last record named.
  if (!domains.all.some(isMissing)) return;
  await domains.readRecords();
  await domains.loadPlanes(domains.all.filter(isMissing));
}

/** How many publications a plane is behind. Undefined: it is not known, or the plane is not an earlier one. */
function behindBy(held: PlaneState | undefined, published: PublishedState | undefined): number | undefined {
  if (held === undefined || published === undefined) return undefined;
  if (isSamePlane(held, published)) return 0;
  // A domain that has left and joined again counts from the beginning.
  return held.sequence < published.sequence ? published.sequence - held.sequence : undefined;
}

async function statusOf(
  realm: OpenRealm,
  domains: Domains,
  domain: Domain,
  heldPlanes: ReadonlyMap<string, PlaneState>,
): Promise<DomainStatus> {
  const { id: domainId, member, published } = domain;
  const held = heldPlanes.get(domainId);
  const behind = behindBy(held, published);
  const isCurrent = behind === 0 || domains.isCurrent(domain);
  const planeProblem = isCurrent || published === undefined ? undefined : domains.planeProblem(domain);
  const plane = { published, isCurrent, planeProblem, unpublished: undefined, held, behind };
  const known = { domainId, ...member, isSelf: false, ...plane };
  try {
    // An empty question: whether it answers.
    await domains.ask(domain, new Uint8Array(), DEADLINE_MS);
    const reachedBy = (await domains.peerOf(domain.id)) instanceof RepositoryPeer ? 'repository' : 'agent';
    const isUnderWay = await isPlaneUnderWay(realm, domainId, domains.filesOf(domainId));
    return { ...known, isUnderWay, reachedBy, problem: domain.problem };
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    // A directory shows the planes of all members; a domain that cannot be asked does not show its own.
    const { planes } = realm.coordinator;
    const isUnderWay =
      planes !== undefined && (await isPlaneUnderWay(realm, domainId, { names: async () => planes.names(domainId) }));
    return { ...known, isUnderWay, reachedBy: undefined, problem: domain.problem ?? error.message };
  }
}

async function ownStatus(
  { backend }: OperationContext,
  repository: Repository,
  realm: OpenRealm,
): Promise<DomainStatus> {
  const { domainId, membership, records } = realm;
  const member = await records.memberOf(domainId);
  const published = (await records.stateToReplace(domainId))?.value;
  const endpoint = await announcedEndpoint(realm, domainId);
  const hasAgent = endpoint !== undefined && (await mayAgentRun(realm, endpoint, domainId));
  const unpublished = await unpublishedFlips(repository, realm);
  return {
    domainId,
    name: membership.name,
    host: member?.host ?? hostname(),
    place: member?.place ?? backend.location,
    isSelf: true,
    reachedBy: hasAgent ? 'agent' : 'repository',
    problem: member === undefined ? 'its record is gone: join the realm again' : whyNotOriginal(member, backend),
    published,
    isCurrent: unpublished === 0,
    planeProblem: undefined,
    isUnderWay: await isPlaneUnderWay(realm, domainId, planeFilesOf(realm, repository)),
    unpublished,
    held: undefined,
    behind: undefined,
  };
}

/**
 * Whether a plane file of a domain is there, or is being written, that its record does not name yet: the domain is
 * publishing it, or its process was killed in between. False also if that cannot be seen from here: of a realm on
 * ZooKeeper, only complete files can, and only if the domain can be asked.
 */
async function isPlaneUnderWay(
  { coordinator, records }: OpenRealm,
  domainId: string,
  files: Pick<PlaneFiles, 'names'>,
): Promise<boolean> {
  try {
    const unfinished = (await coordinator.planes?.unfinished(domainId)) ?? [];
    const newest = newestSequence([...(await files.names()), ...unfinished]);
    // Only now, so that a publication that has ended meanwhile does not count.
    const record = await records.stateToReplace(domainId);
    return newest > (record?.value?.sequence ?? 0);
  } catch (error) {
    if (error instanceof LdmError) return false;
    throw error;
  }
}

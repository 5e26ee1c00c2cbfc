import type { PublishedState } from '../formats/domain-records.ts';
import type { DomainMember } from '../formats/domain-records.ts';
import { hostname } from 'node:os';
import { openPlace } from '../../core/repository/open-place.ts';
import { CorruptDataError, LdmError } from '../../core/errors.ts';
import type { AgentEndpoint } from '../formats/domain-records.ts';
import { AgentClient } from '../agents/agent-client.ts';
import type { Peer } from '../agents/peer.ts';
import { PeerError } from '../coordination/realm-errors.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { isThisMachine } from './own-place.ts';
import type { OpenRealm } from './realm.ts';
import { RepositoryPeer } from './repository-peer.ts';

/** A sleeping agent is abandoned early enough for the repository to be opened instead. */
const PROBE_MS = 2000;

/**
 * Connects to a domain: to its agent if one runs that this machine can reach, otherwise to its repository if that is on
 * this machine or on a server.
 * @throws LdmError
 */
export async function openPeer(context: OperationContext, realm: OpenRealm, domain: Domain): Promise<Peer> {
  const endpoint = await announcedEndpoint(realm, domain.id);
  const agent = endpoint && (await runningAgentOf(realm, endpoint, domain.id));
  if (agent !== undefined) return agent;
  const { place, host, name } = domain.member;
  if (place.startsWith('/') && !isThisMachine(domain.member)) {
    throw new LdmError(`the domain ${name} has no agent that can be reached, and its repository is on ${host}`);
  }
  const { password } = context;
  const backend = await openPlace(place, context.openPlace);
  // The user must not be asked for the password of a repository that the command does not name.
  const given = password?.isConfigured === true ? password : undefined;
  return new RepositoryPeer({ ...context, backend, password: given }, domain.id);
}

/**
 * Returns a client of an agent that this machine can reach and that answers. An agent that was killed stays announced
 * for a while.
 */
async function runningAgentOf(
  realm: OpenRealm,
  endpoint: AgentEndpoint,
  domainId: string,
): Promise<AgentClient | undefined> {
  if (isOnOtherMachine(endpoint)) return undefined;
  const options = { token: realm.keys.agentTokenOf(domainId) };
  if (await new AgentClient(endpoint, { ...options, deadlineMs: PROBE_MS }).isThere())
    return new AgentClient(endpoint, options);
  return undefined;
}

/** Whether an agent listens on a socket of another machine, so that this one cannot reach it. */
export function isOnOtherMachine(endpoint: AgentEndpoint): boolean {
  return endpoint.kind === 'socket' && endpoint.host !== hostname();
}

/** Where the agent of a domain is announced. A damaged record is like none. */
export async function announcedEndpoint(realm: OpenRealm, domainId: string): Promise<AgentEndpoint | undefined> {
  try {
    return await realm.records.endpointOf(domainId);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

/** Whether something answers where an agent is announced, even if it is busy. */
export async function mayAgentRun(realm: OpenRealm, endpoint: AgentEndpoint, domainId: string): Promise<boolean> {
  if (isOnOtherMachine(endpoint)) return false;
  const client = new AgentClient(endpoint, { token: realm.keys.agentTokenOf(domainId), deadlineMs: PROBE_MS });
  try {
    await client.status();
    return true;
  } catch (error) {
    if (error instanceof PeerError) return error.kind !== 'unreachable';
    throw error;
  } finally {
    await client.close();
  }
}

/** Another member of the realm. */
export interface Domain {
  readonly id: string;
  readonly member: DomainMember;
  /** What it has published. Undefined if nothing, or if that cannot be read. */
  readonly published: PublishedState | undefined;
  /** Why it cannot be read. */
  readonly problem: string | undefined;
}

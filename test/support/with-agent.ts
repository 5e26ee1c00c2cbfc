import { hostname } from 'node:os';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { withRepository } from '../../src/core/session/session.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { Domains } from '../../src/realm/domains/domains.ts';
import { runAgent } from '../../src/realm/verbs/agent/agent.ts';
import { connectRealm, readRealm } from '../../src/realm/domains/realm.ts';
import { RepositoryPeer } from '../../src/realm/domains/repository-peer.ts';
import type { AgentService } from '../../src/realm/agents/peer.ts';
import { AgentServer } from '../../src/realm/agents/agent-server.ts';
import type { AgentServerOptions } from '../../src/realm/agents/agent-server.ts';
import type { HeldPlane } from '../../src/realm/planes/held-planes.ts';
import { fakeService } from './fake-agent-service.ts';
import type { Member } from './lending-pair.ts';
import { temporaryDirectory } from './temp-directory.ts';

/** Runs `work` while the agent of a member runs. Returns how many requests the agent has answered. */
export async function withAgent<T>(
  member: { readonly context: OperationContext },
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly requests: number }> {
  const end = new AbortController();
  const listen = { kind: 'socket', path: join(temporaryDirectory(), 'agent.sock') } as const;
  let agent: ReturnType<typeof runAgent> | undefined;
  await new Promise<void>((resolve, reject) => {
    agent = runAgent({ ...member.context, signal: end.signal }, { listen, onReady: () => resolve() });
    agent.catch(reject);
  });
  try {
    const result = await work();
    end.abort();
    return { result, requests: (await agent!).requests };
  } finally {
    end.abort();
  }
}

/**
 * Runs `work` while something is announced as the agent of a member that answers in a way that the test has chosen.
 * `service`: by default, one that knows another repository.
 */
export async function withFakeAgent<T>(
  member: Member,
  options: Partial<AgentServerOptions>,
  work: (server: AgentServer) => Promise<T>,
  service: AgentService = fakeService(),
): Promise<T> {
  const joined = await withRepository(member.context, 'read', async (repository) => readRealm(repository));
  const realm = await connectRealm(joined);
  const server = new AgentServer(service, {
    place: { kind: 'socket', path: join(temporaryDirectory(), 'fake.sock') },
    token: realm.keys.agentTokenOf(joined.domainId),
    host: hostname(),
    closeMs: 200,
    ...options,
  });
  try {
    await realm.records.announce(joined.domainId, await server.listen());
    return await work(server);
  } finally {
    await server.close();
    await realm.coordinator.close();
  }
}

/** The same for one that answers from the repository of the member, except to what `changes` answers. */
export async function withChangedAgent<T>(
  member: Member,
  changes: (peer: RepositoryPeer) => Partial<AgentService>,
  work: () => Promise<T>,
): Promise<T> {
  const domainId = await withRepository(member.context, 'read', async ({ config }) => config.repositoryId);
  const peer = new RepositoryPeer({ ...member.context, backend: new LocalBackend(member.place) }, domainId);
  const service: AgentService = {
    ask: async (ids) => peer.ask(ids),
    readChunk: async (id) => peer.readChunk(id),
    status: async () => peer.status(),
    planes: peer.planes,
    holds: peer.holds,
    ...changes(peer),
  };
  try {
    return await withFakeAgent(member, {}, work, service);
  } finally {
    await peer.close();
  }
}

/** The planes of the others as they are now. Their state stays the same until `close`. */
export async function keepPlanes({ context }: Member): Promise<{
  readonly ask: (ids: Uint8Array) => readonly HeldPlane[];
  readonly close: () => Promise<void>;
}> {
  const joined = await withRepository(context, 'read', async (repository) => readRealm(repository));
  const realm = await connectRealm(joined);
  const domains = new Domains(context, realm);
  await domains.readRecords();
  await domains.loadPlanes();
  const close = async (): Promise<void> => {
    await domains.close();
    await realm.coordinator.close();
  };
  return { ask: (ids) => domains.askPlanes(ids), close };
}

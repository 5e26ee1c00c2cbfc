import { once } from 'node:events';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledError, LdmError } from '../../../core/errors.ts';
import type { AgentEndpoint } from '../../formats/domain-records.ts';
import { AgentServer } from '../../agents/agent-server.ts';
import type { AgentPlace } from '../../agents/agent-place.ts';
import { assertArgument, assertArguments } from '../../../core/session/arguments.ts';
import type { OptionKinds } from '../../../core/session/arguments.ts';
import { withRepository } from '../../../core/session/session.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { assertOriginal } from '../../domains/own-place.ts';
import { publishPlane } from '../../domains/publish.ts';
import { RepositoryPeer } from '../../domains/repository-peer.ts';
import { connectRealm, readRealm } from '../../domains/realm.ts';
import type { OpenRealm } from '../../domains/realm.ts';
import { Domains } from '../../domains/domains.ts';
import { PlaneWatch } from '../../domains/plane-watch.ts';

export type { AgentPlace } from '../../agents/agent-place.ts';

export interface AgentOptions {
  /** A Unix socket, or an address with a certificate. Default: a socket in `$XDG_RUNTIME_DIR/ldm`. */
  readonly listen?: AgentPlace | undefined;
  /** Called once the agent answers and the coordinator knows it. */
  readonly onReady?: ((endpoint: AgentEndpoint) => void) | undefined;
  /** Called when something fails that the agent tries again. */
  readonly onTrouble?: ((reason: string) => void) | undefined;
}

export interface AgentResult {
  /** How many requests were answered. */
  readonly requests: number;
}

const SOCKET_KINDS: OptionKinds<Extract<AgentPlace, { kind: 'socket' }>> = { kind: 'text!', path: 'text!' };
const TLS_KINDS: OptionKinds<Extract<AgentPlace, { kind: 'tls' }>> = {
  kind: 'text!',
  host: 'text!',
  port: 'count!',
  certificateFile: 'text!',
  keyFile: 'text!',
};

/**
 * Answers the questions of other domains about this repository until `OperationContext.signal` is aborted, and keeps
 * their planes. The repository is locked only while something is asked, so backups, deletes and compactions go on. An
 * agent that is killed leaves nothing to repair.
 * @throws RefusedError if the repository has not joined a realm
 */
export async function runAgent(context: OperationContext, options: AgentOptions): Promise<AgentResult> {
  const { listen } = options ?? {};
  if (listen !== undefined) assertArgument('options.listen', listen, 'object!');
  if (listen !== undefined) assertArgument('options.listen.kind', listen.kind, ['socket', 'tls']);
  assertArguments<AgentOptions>(context, options, {
    listen: listen?.kind === 'tls' ? TLS_KINDS : SOCKET_KINDS,
    onReady: 'call',
    onTrouble: 'call',
  });
  const joined = await withRepository(context, 'read', async (repository) => readRealm(repository));
  const realm = await connectRealm(joined);
  const service = new RepositoryPeer(context, joined.domainId);
  const place = options.listen ?? defaultPlace(joined.domainId);
  let endpoint: AgentEndpoint | undefined;
  const onChange = async (): Promise<void> => announceAgain(context, realm, endpoint!);
  const planes = new PlaneWatch(new Domains(context, realm), realm, { onChange, onTrouble: options.onTrouble });
  const server = new AgentServer(service, {
    token: realm.keys.agentTokenOf(joined.domainId),
    place,
    host: hostname(),
    askPlanes: (ids) => planes.ask(ids),
    onFailure: (error) =>
      options.onTrouble?.(`a request failed: ${error instanceof Error ? error.message : 'unknown'}`),
  });
  try {
    await assertOriginal(context, realm);
    endpoint = await server.listen();
    await publishMissing(context, realm, options);
    await realm.records.announce(joined.domainId, endpoint);
    await planes.start();
    options.onReady?.(endpoint);
    await aborted(context.signal);
    return { requests: server.requestCount };
  } finally {
    await planes.stop();
    await server.close();
    await service.close();
    await realm.coordinator.close();
  }
}

/** The repository may have left the realm and joined it again. */
async function announceAgain(context: OperationContext, realm: OpenRealm, endpoint: AgentEndpoint): Promise<void> {
  const { records, domainId } = realm;
  if ((await records.endpointOf(domainId)) !== undefined) return;
  if ((await records.memberOf(domainId)) === undefined) return;
  await assertOriginal(context, realm);
  await records.announce(domainId, endpoint);
}

function defaultPlace(domainId: string): AgentPlace {
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? join(tmpdir(), `ldm-${process.getuid!()}`);
  return { kind: 'socket', path: join(runtime, 'ldm', `${domainId.slice(0, 16)}.sock`) };
}

/** What a backup could not publish, since the coordinator could not be reached then. */
async function publishMissing(context: OperationContext, realm: OpenRealm, { onTrouble }: AgentOptions): Promise<void> {
  try {
    await withRepository(context, 'add', async (repository) => publishPlane(repository, realm));
  } catch (error) {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    onTrouble?.(`the changes of this repository are not published: ${error.message}`);
  }
}

async function aborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return await new Promise(() => undefined);
  if (!signal.aborted) await once(signal, 'abort');
}

import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { RequestOptions } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import type { AgentEndpoint } from '../../../src/realm/formats/domain-records.ts';
import { AgentClient } from '../../../src/realm/agents/agent-client.ts';
import type { AgentPlace } from '../../../src/realm/agents/agent-place.ts';
import { AgentServer, type AgentServerOptions } from '../../../src/realm/agents/agent-server.ts';
import type { AgentService } from '../../../src/realm/agents/peer.ts';
import { fakeService } from '../../support/fake-agent-service.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

export const TOKEN: string = 'ab'.repeat(32);

export interface StartedAgent {
  readonly server: AgentServer;
  readonly endpoint: AgentEndpoint;
  readonly client: AgentClient;
}

export function socketPath(): string {
  return join(temporaryDirectory(), 'agent.sock');
}

/** A place with a new self-signed certificate. */
export function tlsPlace(): AgentPlace {
  const directory = temporaryDirectory();
  const [certificateFile, keyFile] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
  const { key, certificate } = selfSigned('agent');
  writeFileSync(certificateFile, certificate);
  writeFileSync(keyFile, key, { mode: 0o600 });
  return { kind: 'tls', host: '127.0.0.1', port: 0, certificateFile, keyFile };
}

/** Starts an agent that ends with the test. */
export async function startAgent(
  place: AgentPlace,
  overrides: Partial<AgentService> = {},
  options: Partial<AgentServerOptions> = {},
): Promise<StartedAgent> {
  const server = new AgentServer(fakeService(overrides), {
    place,
    token: TOKEN,
    host: 'here',
    closeMs: 200,
    ...options,
  });
  const endpoint = await server.listen();
  onTestFinished(async () => server.close());
  return { server, endpoint, client: new AgentClient(endpoint, { token: TOKEN }) };
}

/** Sends a request that the client of an agent would not send. Returns the status of the answer. */
export async function statusOf(
  socket: string,
  options: RequestOptions,
  body: readonly Uint8Array[] = [],
  token: string = TOKEN,
): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${token}`, ...(options.headers as Record<string, string>) };
  return await new Promise((resolve, reject) => {
    const sent = request({ socketPath: socket, agent: false, ...options, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    for (const part of body) sent.write(part);
    sent.end();
  });
}

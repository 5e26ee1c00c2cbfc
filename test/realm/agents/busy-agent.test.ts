import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { AgentClient } from '../../../src/realm/agents/agent-client.ts';
import { FAKE_STATUS, Gate } from '../../support/fake-agent-service.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { TOKEN, socketPath, startAgent, statusOf, tlsPlace } from './agent-support.ts';

const KNOWN = Buffer.alloc(20, 4);

describe.each(['socket', 'tls'] as const)('an agent (%s)', (kind) => {
  const place = (): ReturnType<typeof tlsPlace> => (kind === 'tls' ? tlsPlace() : { kind, path: socketPath() });

  it('answers 100 clients that ask at the same time, and works for 64 of them at once', async () => {
    let [running, most] = [0, 0];
    const ask = async (): Promise<[undefined]> => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return [undefined];
    };
    const { endpoint } = await startAgent(place(), { ask });
    const clients = Array.from({ length: 100 }, () => new AgentClient(endpoint, { token: TOKEN }));
    const asked = await Promise.all(clients.map(async (client) => client.ask(KNOWN)));
    expect(asked).toEqual(clients.map(() => [undefined]));
    expect(most).toBeLessThanOrEqual(64);
  });
});

describe('an agent with a socket', () => {
  it('lets requests wait while as many run as may run at once, and is busy while as many wait as may', async () => {
    const gate = new Gate();
    const path = socketPath();
    const { client, server } = await startAgent(
      { kind: 'socket', path },
      { ask: async () => (await gate.pass(), [undefined]) },
      { requestsMax: 2, waitingMax: 1 },
    );
    const asked = [client.ask(KNOWN), client.ask(KNOWN), client.ask(KNOWN)];
    await waitUntil(() => server.requestCount === 3, 'three questions');
    expect(await statusOf(path, { path: '/v1/status' })).toBe(503);
    // It is told so as well, and asks again.
    asked.push(client.ask(KNOWN));
    await waitUntil(() => server.requestCount > 5, 'another attempt');
    expect(gate.arrivedCount).toBe(2);
    gate.open();
    expect(await Promise.all(asked)).toEqual(asked.map(() => [undefined]));
    expect(gate.arrivedCount).toBe(4);
  });

  it('says that it is busy to a client that cannot wait longer', async () => {
    const gate = new Gate();
    const options = { requestsMax: 1, waitingMax: 0 };
    const service = { ask: async () => (await gate.pass(), [undefined]) };
    const { client, server, endpoint } = await startAgent({ kind: 'socket', path: socketPath() }, service, options);
    const first = client.ask(KNOWN);
    await waitUntil(() => gate.arrivedCount === 1, 'the first question');
    const deadline = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(deadline.signal);
    const asked = expect(new AgentClient(endpoint, { token: TOKEN }).ask(KNOWN)).rejects.toMatchObject({
      kind: 'busy',
    });
    await waitUntil(() => server.requestCount > 2, 'another attempt');
    deadline.abort();
    await asked;
    gate.open();
    expect(await first).toEqual([undefined]);
  });

  it('does not work for a client that has gone while it waited', async () => {
    const gate = new Gate();
    const path = socketPath();
    const service = { ask: async () => (await gate.pass(), [undefined]) };
    const { client, server } = await startAgent({ kind: 'socket', path }, service, { requestsMax: 1 });
    const first = client.ask(KNOWN);
    await waitUntil(() => gate.arrivedCount === 1, 'the first question');
    const gone = connect(path, () => {
      const head = `POST /v1/ask HTTP/1.1\r\nhost: agent\r\nauthorization: Bearer ${TOKEN}\r\n`;
      gone.write(`${head}content-length: 20\r\n\r\n`);
      gone.write(KNOWN);
    });
    await waitUntil(() => server.requestCount === 2, 'the other question');
    gone.destroy();
    const last = client.ask(KNOWN);
    await waitUntil(() => server.requestCount === 3, 'the last question');
    gate.open();
    expect([await first, await last]).toEqual([[undefined], [undefined]]);
    expect(gate.arrivedCount).toBe(2);
  });
});

describe('an agent with TLS', () => {
  it('has few connections of one client at a time, which asks as often as it likes', async () => {
    let [open, most] = [0, 0];
    const { client, endpoint } = await startAgent(tlsPlace(), {
      status: async () => {
        most = Math.max(most, (open += 1));
        await new Promise((resolve) => setImmediate(resolve));
        open -= 1;
        return FAKE_STATUS;
      },
    });
    expect(endpoint.kind).toBe('tls');
    const asked = await Promise.all(Array.from({ length: 50 }, async () => client.status()));
    expect(asked).toEqual(Array.from({ length: 50 }, () => FAKE_STATUS));
    expect(most).toBeLessThanOrEqual(16);
  });

  it('that drops connections is asked again, and one that ends its handshake late harms nobody', async () => {
    let connections = 0;
    const silent: Socket[] = [];
    const dropping = createServer((socket) => {
      connections += 1;
      if (connections <= 2) socket.destroy();
      else silent.push(socket);
    });
    dropping.listen(0, '127.0.0.1');
    await once(dropping, 'listening');
    onTestFinished(() => void dropping.close());
    const { port } = dropping.address() as AddressInfo;
    const endpoint = { kind: 'tls', url: `https://127.0.0.1:${port}`, fingerprint: 'ab'.repeat(32) } as const;
    const deadline = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(deadline.signal);
    const asked = expect(new AgentClient(endpoint, { token: TOKEN }).ask(KNOWN)).rejects.toMatchObject({
      kind: 'busy',
    });
    await waitUntil(() => silent.length === 1, 'the third attempt');
    deadline.abort();
    await asked;
    // An error of the connection that nothing hears would end this process.
    const [socket] = silent;
    if (socket!.destroyed) return;
    socket!.resume().destroy();
    await once(socket!, 'close');
  });
});

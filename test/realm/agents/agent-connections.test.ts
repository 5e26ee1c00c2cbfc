import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';

import type { AgentEndpoint } from '../../../src/realm/formats/domain-records.ts';
import { STRANGERS_PER_NETWORK_MAX, networkOf } from '../../../src/realm/agents/agent-connections.ts';
import { FAKE_STATUS } from '../../support/fake-agent-service.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { Gate } from '../../support/fake-agent-service.ts';
import { TOKEN, socketPath, startAgent, tlsPlace } from './agent-support.ts';

const HALF = 'POST /v1/ask HTTP/1.1\r\nhost: agent\r\nautho';
const WRONG = 'GET /v1/status HTTP/1.1\r\nhost: agent\r\nauthorization: Bearer 00\r\n\r\n';
const RIGHT = `GET /v1/status HTTP/1.1\r\nhost: agent\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`;
const FLOOD = 400;

interface Opened {
  readonly socket: Socket;
  isClosed: boolean;
}

function opened(socket: Socket): Opened {
  const connection = { socket, isClosed: false };
  socket.resume().on('error', () => undefined);
  socket.on('close', () => (connection.isClosed = true));
  onTestFinished(() => void socket.destroy());
  return connection;
}

/** A connection without TLS, whatever the agent speaks. */
function openRaw(endpoint: AgentEndpoint): Opened {
  if (endpoint.kind === 'socket') return opened(connect(endpoint.path));
  return opened(connect(Number(new URL(endpoint.url).port), '127.0.0.1'));
}

/** A connection that has sent something that the agent can read. */
async function openAndSend(endpoint: AgentEndpoint, text: string): Promise<Opened> {
  if (endpoint.kind === 'socket') {
    const connection = openRaw(endpoint);
    connection.socket.write(text);
    return connection;
  }
  const port = Number(new URL(endpoint.url).port);
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  const connection = opened(socket);
  await once(socket, 'secureConnect');
  socket.write(text);
  return connection;
}

async function answered({ socket }: Opened): Promise<void> {
  await once(socket, 'data');
}

/** Only the timers of this program; those of Node go on. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

describe.each(['socket', 'tls'] as const)('an agent (%s)', (kind) => {
  const place = (): ReturnType<typeof tlsPlace> => (kind === 'tls' ? tlsPlace() : { kind, path: socketPath() });

  it(`answers while ${FLOOD} connections send half a request`, async () => {
    const { endpoint, client } = await startAgent(place());
    const flood = Array.from({ length: FLOOD }, () => openRaw(endpoint));
    for (const { socket } of flood) socket.write(kind === 'tls' ? Buffer.from([0x16, 3, 1]) : HALF);
    expect(await client.status()).toEqual(FAKE_STATUS);
    await waitUntil(() => flood.some(({ isClosed }) => isClosed), 'the end of a connection');
    expect(await client.status()).toEqual(FAKE_STATUS);
  });

  it('gives a connection 5 seconds for a request with the token', async () => {
    stopClock();
    const { endpoint } = await startAgent(place());
    const member = await openAndSend(endpoint, RIGHT);
    await answered(member);
    const silent = openRaw(endpoint);
    const slow = await openAndSend(endpoint, HALF);
    const wrong = await openAndSend(endpoint, WRONG);
    // Only then has the agent read what came before it.
    await answered(wrong);
    vi.advanceTimersByTime(4999);
    const late = await openAndSend(endpoint, WRONG);
    await answered(late);
    expect([silent.isClosed, slow.isClosed, wrong.isClosed]).toEqual([false, false, false]);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await waitUntil(() => silent.isClosed && slow.isClosed && wrong.isClosed, 'the end of the connections');
    late.socket.write(RIGHT);
    await answered(late);
    member.socket.write(RIGHT);
    await answered(member);
  });

  it('does not count what has no token as a request', async () => {
    const { endpoint, client } = await startAgent(place(), {}, { requestsMax: 1 });
    const strangers = await Promise.all(Array.from({ length: 3 }, async () => openAndSend(endpoint, WRONG)));
    for (const { socket } of strangers) socket.pause();
    expect(await client.status()).toEqual(FAKE_STATUS);
  });

  it('lets a member stay when others come', async () => {
    const { endpoint } = await startAgent(place(), {}, { requestsMax: 1 });
    const member = await openAndSend(endpoint, RIGHT);
    await answered(member);
    const flood = Array.from({ length: 50 }, () => openRaw(endpoint));
    // 8 connections may be open at once, and the newest are kept.
    await waitUntil(() => flood.filter(({ isClosed }) => isClosed).length === 43, 'the end of 43 connections');
    expect(flood.slice(43).some(({ isClosed }) => isClosed)).toBe(false);
    member.socket.write(RIGHT);
    await answered(member);
  });
});

test(`of one address, ${STRANGERS_PER_NETWORK_MAX} connections may be without the token, the newest`, async () => {
  const { endpoint } = await startAgent(tlsPlace());
  const flood: Opened[] = [];
  for (let count = 0; count < STRANGERS_PER_NETWORK_MAX + 5; count += 1) {
    flood.push(openRaw(endpoint));
    await once(flood.at(-1)!.socket, 'connect');
  }
  await waitUntil(() => flood.filter(({ isClosed }) => isClosed).length === 5, 'the end of 5 connections');
  expect(flood.slice(5).some(({ isClosed }) => isClosed)).toBe(false);
});

test.each([
  [undefined, undefined],
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['2001:db8:1::', '2001:db8:1:0'],
  ['fe80::1:2:3:4', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test('requests that were sent without a wait on a connection that has closed are not counted for ever', async () => {
  const path = socketPath();
  const gate = new Gate();
  const status = async (): Promise<typeof FAKE_STATUS> => (await gate.pass(), FAKE_STATUS);
  const { client } = await startAgent({ kind: 'socket', path }, { status }, { requestsMax: 2 });
  const socket = connect(path);
  socket.write(RIGHT.repeat(4));
  await waitUntil(() => gate.arrivedCount === 2, 'two requests');
  socket.destroy();
  gate.open();
  const isAnswered = async (): Promise<boolean> =>
    client.ask(Buffer.alloc(20)).then(
      () => true,
      () => false,
    );
  // The limit of the test ends it.
  while (!(await isAnswered()));
  expect(await client.status()).toEqual(FAKE_STATUS);
});

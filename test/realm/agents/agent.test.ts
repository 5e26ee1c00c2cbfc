import { connect } from 'node:net';
import { existsSync, statSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';

import { AgentClient } from '../../../src/realm/agents/agent-client.ts';
import type { HeldPlane } from '../../../src/realm/planes/held-planes.ts';
import { MAX_ASKED_IDS } from '../../../src/realm/agents/peer.ts';
import { FAKE_DOMAIN, FAKE_PLANE, FAKE_STATUS, Gate, fakeAnswer } from '../../support/fake-agent-service.ts';
import { inSoak } from '../../support/soak.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { TOKEN, socketPath, startAgent, statusOf, tlsPlace } from './agent-support.ts';

const KNOWN = Buffer.alloc(20, 4);
const UNKNOWN = Buffer.alloc(20, 5);

describe.each(['socket', 'tls'] as const)('an agent (%s)', (kind) => {
  const place = (): ReturnType<typeof tlsPlace> => (kind === 'tls' ? tlsPlace() : { kind, path: socketPath() });

  it('answers what a domain answers', async () => {
    const { client } = await startAgent(place());
    expect(await client.ask(Buffer.concat([UNKNOWN, KNOWN]))).toEqual([undefined, fakeAnswer(4)]);
    expect(await client.ask(new Uint8Array(0))).toEqual([]);
    expect(Buffer.from((await client.readChunk(KNOWN))!)).toEqual(KNOWN);
    expect(await client.readChunk(UNKNOWN)).toBeUndefined();
    expect(await client.planes.names()).toEqual([FAKE_PLANE]);
    expect(Buffer.from((await client.planes.read(FAKE_PLANE, 3))!)).toEqual(Buffer.from([1, 2, 3]));
    expect(await client.planes.read('planes/000000000001/base-000000000002', 3)).toBeUndefined();
    expect(await client.status()).toEqual(FAKE_STATUS);
  });

  it('says what its planes say, if it has any', async () => {
    const state = { generation: 1, sequence: 2, positions: 64, hashes: 3, liveCount: 1, checksum: 'ab'.repeat(32) };
    const askPlanes = (ids: Uint8Array): HeldPlane[] => [
      { domainId: FAKE_DOMAIN, state, maybe: Buffer.alloc(Math.ceil(ids.length / 160), ids[0]) },
    ];
    const { client, endpoint } = await startAgent(place(), {}, { askPlanes });
    expect(await client.askPlanes(KNOWN)).toEqual([{ domainId: FAKE_DOMAIN, state, maybe: Buffer.from([4]) }]);
    expect(await client.askPlanes(new Uint8Array())).toMatchObject([{ state, maybe: Buffer.alloc(0) }]);
    expect((await client.askPlanes(Buffer.alloc(MAX_ASKED_IDS * 20)))[0]!.maybe).toHaveLength(MAX_ASKED_IDS / 8);
    const stranger = new AgentClient(endpoint, { token: 'cd'.repeat(32) });
    await expect(stranger.askPlanes(KNOWN)).rejects.toMatchObject({ kind: 'refused' });
    for (const bytes of [19, MAX_ASKED_IDS * 20 + 20])
      await expect(client.askPlanes(Buffer.alloc(bytes))).rejects.toMatchObject({ kind: 'invalid' });
    const without = await startAgent(place());
    await expect(without.client.askPlanes(KNOWN)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it(`answers ${MAX_ASKED_IDS} questions at once, and a chunk of many megabytes`, async () => {
    const large = Buffer.alloc(inSoak(20_000_000, 5_000_000), 'chunk');
    const { client } = await startAgent(place(), { readChunk: async () => large });
    const answers = await client.ask(Buffer.alloc(MAX_ASKED_IDS * 20, 4));
    expect(answers).toHaveLength(MAX_ASKED_IDS);
    expect(answers.at(-1)).toEqual(fakeAnswer(4));
    expect(large.equals((await client.readChunk(KNOWN))!)).toBe(true);
  });

  it('answers nobody without the token', async () => {
    const { endpoint } = await startAgent(place());
    for (const token of ['', 'ab', 'cd'.repeat(32), `${TOKEN}0`]) {
      const stranger = new AgentClient(endpoint, { token });
      await expect(stranger.ask(KNOWN)).rejects.toMatchObject({ code: 'PEER', kind: 'refused' });
      await expect(stranger.readChunk(KNOWN)).rejects.toMatchObject({ kind: 'refused' });
      expect(await stranger.isThere()).toBe(false);
    }
  });

  it('that does not answer in time is unreachable', async () => {
    const gate = new Gate();
    const { endpoint } = await startAgent(place(), { ask: async () => (await gate.pass(), []) });
    const client = new AgentClient(endpoint, { token: TOKEN, deadlineMs: 300 });
    const deadline = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(deadline.signal);
    const asked = expect(client.ask(KNOWN)).rejects.toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('did not answer in time'),
    });
    await waitUntil(() => gate.arrivedCount === 1, 'the question');
    expect(timeout).toHaveBeenCalledWith(300);
    deadline.abort();
    await asked;
    gate.open();
  });

  it('says that it has failed, tells its owner why, and goes on', async () => {
    const failures: unknown[] = [];
    const failure = new Error('the disk is gone');
    const { client } = await startAgent(
      place(),
      { status: async () => Promise.reject(failure) },
      { onFailure: (error) => failures.push(error) },
    );
    await expect(client.status()).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining('500') });
    expect(failures).toEqual([failure]);
    expect(await client.ask(UNKNOWN)).toEqual([undefined]);
  });

  it('finishes what is under way before it ends', async () => {
    const gate = new Gate();
    const { client, server } = await startAgent(
      place(),
      { ask: async () => (await gate.pass(), [fakeAnswer(4)]) },
      { closeMs: 60_000 },
    );
    const asked = client.ask(KNOWN);
    await waitUntil(() => gate.arrivedCount === 1, 'the question');
    const closed = server.close();
    await expect(client.status()).rejects.toMatchObject({ kind: 'unreachable' });
    gate.open();
    expect(await asked).toEqual([fakeAnswer(4)]);
    await closed;
  });

  it('does not wait forever for what is under way', async () => {
    const gate = new Gate();
    const { client, server } = await startAgent(place(), { ask: async () => (await gate.pass(), []) }, { closeMs: 50 });
    const asked = client.ask(KNOWN).catch((error: unknown) => error);
    await waitUntil(() => gate.arrivedCount === 1, 'the question');
    await server.close();
    expect(await asked).toMatchObject({ code: 'PEER', kind: 'unreachable' });
    gate.open();
  });
});

describe('an agent with TLS', () => {
  it('does not get the token if its certificate is not the announced one', async () => {
    const { endpoint, server } = await startAgent(tlsPlace());
    const other = await startAgent(tlsPlace());
    if (endpoint.kind !== 'tls' || other.endpoint.kind !== 'tls') throw new Error('not TLS');
    const client = new AgentClient({ ...endpoint, fingerprint: other.endpoint.fingerprint }, { token: TOKEN });
    await expect(client.status()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('certificate'),
    });
    expect(server.requestCount).toBe(0);
  });

  it('is unreachable if nothing listens at its address', async () => {
    const { endpoint } = await startAgent(tlsPlace());
    if (endpoint.kind !== 'tls') throw new Error('not TLS');
    const closedPort = { ...endpoint, url: 'https://127.0.0.1:1' };
    await expect(new AgentClient(closedPort, { token: TOKEN }).status()).rejects.toMatchObject({ kind: 'unreachable' });
  });
});

describe('an agent with a socket', () => {
  it('lets only its user connect, and removes the socket at the end', async () => {
    const path = socketPath();
    const { server } = await startAgent({ kind: 'socket', path });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await server.close();
    expect(existsSync(path)).toBe(false);
  });

  it('refuses what is not a question', async () => {
    const path = socketPath();
    await startAgent({ kind: 'socket', path });
    const ask = { method: 'POST', path: '/v1/ask' };
    expect(await statusOf(path, ask, [Buffer.alloc(19)])).toBe(400);
    expect(await statusOf(path, { path: '/v2/status' })).toBe(404);
    expect(await statusOf(path, { path: '/v1/chunks/0011' })).toBe(404);
    expect(await statusOf(path, { path: '/v1/planes/../config' })).toBe(404);
    expect(await statusOf(path, { method: 'DELETE', path: '/v1/status' })).toBe(405);
    expect(await statusOf(path, { path: '/v1/status' }, [], 'wrong')).toBe(401);
    expect(await statusOf(path, { path: '/v1/status' })).toBe(200);
  });

  it('does not keep a body that is too long, announced or not', async () => {
    const path = socketPath();
    let askedCount = 0;
    const { client } = await startAgent({ kind: 'socket', path }, { ask: async () => (askedCount++, []) });
    const ask = { method: 'POST', path: '/v1/ask' };
    const length = (MAX_ASKED_IDS + 1) * 20;
    expect(await statusOf(path, { ...ask, headers: { 'content-length': length } }, [Buffer.alloc(length)])).toBe(413);
    const parts = Array.from({ length: 40 }, () => Buffer.alloc(100_000));
    expect(await statusOf(path, ask, parts)).toBe(413);
    await expect(client.ask(Buffer.alloc(length))).rejects.toMatchObject({ kind: 'invalid' });
    expect(askedCount).toBe(0);
  });
});

describe('a slow client', () => {
  const HEAD = `POST /v1/ask HTTP/1.1\r\nhost: agent\r\nauthorization: Bearer ${TOKEN}\r\ncontent-length: 40\r\n\r\n`;

  it.each([
    ['that never sends its headers', 'POST /v1/ask HT'],
    ['that never sends its body', `${HEAD}twenty bytes are here`],
  ])('%s is not waited for', async (_name, sent) => {
    const path = socketPath();
    const { client } = await startAgent({ kind: 'socket', path }, {}, { requestsMax: 1, timeoutMs: 200 });
    const socket = connect(path, () => socket.write(sent));
    let isClosed = false;
    socket.resume().on('error', () => undefined);
    socket.on('close', () => (isClosed = true));
    await waitUntil(() => isClosed, 'the end of the connection');
    // On a busy machine, this client may be slow, too. The limit of the test ends it.
    while (!(await client.isThere()));
  });

  it('that does not read its answer takes the place of a request, but not for long', async () => {
    const path = socketPath();
    const large = Buffer.alloc(50_000_000);
    const options = { requestsMax: 1, waitingMax: 0, timeoutMs: 500 };
    const { client } = await startAgent({ kind: 'socket', path }, { readChunk: async () => large }, options);
    let received = 0;
    const socket = connect(path);
    socket.on('error', () => undefined);
    socket.write(
      `GET /v1/chunks/${KNOWN.toString('hex')} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`,
    );
    socket.once('data', (part: Buffer) => {
      received += part.length;
      socket.pause();
    });
    await waitUntil(() => received > 0, 'the beginning of the answer');
    expect(await statusOf(path, { path: '/v1/status' })).toBe(503);
    const isAnswered = async (): Promise<boolean> =>
      client.status().then(
        () => true,
        () => false,
      );
    // The limit of the test ends it.
    while (!(await isAnswered()));
    socket.destroy();
  });
});

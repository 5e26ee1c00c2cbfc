import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { RefusedError } from '../../core/errors.ts';
import { TooManyHoldsError } from '../coordination/realm-errors.ts';
import { FILE_ID_BYTES } from '../../core/format/constants.ts';
import { isDomainName } from '../formats/domain-records.ts';
import type { AgentEndpoint } from '../formats/domain-records.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { AgentConnections } from './agent-connections.ts';
import { prepareSocket, protectSocket, readCertificate } from './agent-place.ts';
import type { AgentPlace } from './agent-place.ts';
import { MAX_ASKED_HOLDS, MAX_ASKED_IDS, MAX_HELD_IDS } from './peer.ts';
import type { AgentService } from './peer.ts';
import { RequestQueue } from './request-queue.ts';
import { RequestFailure, closeOf, found, json, readItems } from './agent-replies.ts';
import type { Reply } from './agent-replies.ts';
import { encodeHeldPlanes } from '../planes/held-planes.ts';
import type { HeldPlane } from '../planes/held-planes.ts';
import { MAX_PLANE_POSITIONS, planeBaseBytes } from '../formats/plane-file.ts';

export interface AgentServerOptions {
  readonly place: AgentPlace;
  /** In hex; clients send it as a bearer token (RFC 6750). */
  readonly token: string;
  /** The name of this machine, for clients on the same one. */
  readonly host: string;
  /** How many requests run at the same time. */
  readonly requestsMax?: number;
  /** How many others wait for their turn; more are told that the agent is busy. */
  readonly waitingMax?: number;
  /** For the body of a request to arrive, and for a connection on which nothing moves. */
  readonly timeoutMs?: number;
  /** For a new connection to send a request with the token, and for the headers of each request. */
  readonly admissionMs?: number;
  /** How long `close` waits for requests that are under way. */
  readonly closeMs?: number;
  /** What the planes of the other domains say about ids of 20 bytes. Undefined: it has no planes. */
  readonly askPlanes?: (ids: Uint8Array) => readonly HeldPlane[];
  /** Called with what made a request fail; the client learns only that it did. */
  readonly onFailure?: (error: unknown) => void;
}

const REQUESTS_MAX = 64;
/** Leaves connections to those that learn that the agent is busy. */
const WAITING_MAX = 128;
/** A client that has not sent its token yet has a connection as well, and one that learns that the agent is busy. */
const CONNECTIONS_PER_REQUEST = 4;
const TIMEOUT_MS = 30_000;
const ADMISSION_MS = 5000;
const CLOSE_MS = 5000;

const HOLD = /^\/v1\/holds\/([0-9a-f]{64})\/([0-9a-f]{64})\/([\w.-]+)\?by=secret$/;
const HELD = /^\/v1\/held\/([0-9a-f]{64})$/;
const RELEASE = /^\/v1\/release\/([0-9a-f]{64})$/;

/** A connection is not used again while the agent ends. */
const CLOSE = { connection: 'close' };

/**
 * Serves a domain over HTTP/1.1:
 *
 * - `POST /v1/ask` with ids of 20 bytes, one after another: a JSON array with an answer or null for each.
 * - `POST /v1/candidates` with such ids, or with none: a JSON array with what the plane of each other domain says about
 *   them, and its state. A member asks its own agent.
 * - `GET /v1/chunks/<id>`: the bytes of a chunk.
 * - `GET /v1/planes`: a JSON array of names; `GET /v1/planes/<generation>/<file>`: the bytes of a file.
 * - `POST /v1/holds/<domain>/<hold>/<name>?by=secret` with ids: a byte for each, 1 if it is kept. `POST /v1/held/<domain>`
 *   with holds of 32 bytes: a JSON array of those that there are. `POST /v1/release/<domain>` with the secrets of holds, 32
 *   bytes each: ends them. Holds are
 *   not listed: who does not know their ids learns nothing of them.
 * - `GET /v1/status`: `PeerStatus` in JSON.
 *
 * 401: no token, or a wrong one. 404: there is no such thing. 409: too many holds of this domain. 413: the question is too long. 503: too
 * many requests run and wait; a client asks again.
 */
export class AgentServer {
  requestCount = 0;
  readonly #service: AgentService;
  readonly #options: AgentServerOptions;
  readonly #connections: AgentConnections;
  /** Only requests with the token. */
  readonly #queue: RequestQueue;
  #server: Server | undefined;

  constructor(service: AgentService, options: AgentServerOptions) {
    this.#service = service;
    this.#options = options;
    const runningMax = options.requestsMax ?? REQUESTS_MAX;
    this.#queue = new RequestQueue({ runningMax, waitingMax: options.waitingMax ?? WAITING_MAX });
    const connectionsMax = (runningMax + 1) * CONNECTIONS_PER_REQUEST;
    this.#connections = new AgentConnections({ connectionsMax, admissionMs: this.#admissionMs });
  }

  /**
   * Begins to answer. Returns where.
   * @throws RefusedError if that is not possible there
   */
  async listen(): Promise<AgentEndpoint> {
    const { place, host } = this.#options;
    const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#answer(request, response);
    if (place.kind === 'socket') {
      await prepareSocket(place.path);
      await this.#start(createServer(this.#limits(), onRequest), { path: place.path });
      protectSocket(place.path);
      return { kind: 'socket', path: place.path, host };
    }
    const { certificate: cert, key, fingerprint } = readCertificate(place);
    const created = createTlsServer({ cert, key, ...this.#limits() }, onRequest);
    const server = await this.#start(created, { host: place.host, port: place.port });
    const { port } = server.address() as AddressInfo;
    return { kind: 'tls', url: `https://${place.host}:${port}`, fingerprint };
  }

  /** Ends what is under way, but not for long, and stops. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    const timer = setTimeout(() => server.closeAllConnections(), this.#options.closeMs ?? CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  get #admissionMs(): number {
    return this.#options.admissionMs ?? ADMISSION_MS;
  }

  #limits(): ServerOptions {
    const requestTimeout = this.#options.timeoutMs ?? TIMEOUT_MS;
    const headersTimeout = Math.min(this.#admissionMs, requestTimeout);
    // By default, Node looks for late requests every 30 seconds.
    return { requestTimeout, headersTimeout, connectionsCheckingInterval: Math.ceil(headersTimeout / 5) };
  }

  async #start(server: Server, where: { path: string } | { host: string; port: number }): Promise<Server> {
    this.#connections.watch(server);
    // A client that does not read its answer would keep it in memory.
    server.setTimeout(this.#options.timeoutMs ?? TIMEOUT_MS);
    try {
      const listening = once(server, 'listening');
      server.listen(where);
      await listening;
    } catch (cause) {
      const at = 'path' in where ? where.path : `${where.host}:${where.port}`;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new RefusedError(`the agent cannot listen on ${at}: ${reason}`, { cause });
    }
    // A client that does not speak HTTP or TLS ends its own connection only.
    server.on('error', () => undefined);
    return (this.#server = server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requestCount += 1;
    if (!this.#hasToken(request)) {
      this.#send(response, { status: 401 });
      return;
    }
    this.#connections.admit(request.socket);
    if (!(await this.#queue.enter())) {
      this.#send(response, { status: 503 });
      return;
    }
    try {
      // Its client may have gone while it waited.
      if (request.socket.destroyed) return;
      const reply = await this.#replyOrFailure(request);
      const isOpen = !response.destroyed;
      this.#send(response, reply);
      // Until then, the answer takes memory.
      if (isOpen) await closeOf(response, request.socket);
    } finally {
      this.#queue.leave();
    }
  }

  #send(response: ServerResponse, { status, body = new Uint8Array() }: Reply): void {
    response.writeHead(status, { 'content-length': body.length, ...(this.#server === undefined && CLOSE) });
    response.end(body);
  }

  async #replyOrFailure(request: IncomingMessage): Promise<Reply> {
    try {
      return await this.#reply(request);
    } catch (error) {
      if (error instanceof RequestFailure) return { status: error.status };
      if (error instanceof TooManyHoldsError) return { status: 409 };
      this.#options.onFailure?.(error);
      return { status: 500 };
    }
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    const { method, url = '' } = request;
    if (method === 'POST' && url === '/v1/ask') return await this.#ask(request);
    if (method === 'POST' && url === '/v1/candidates') return await this.#askPlanes(request);
    if (method === 'POST') return await this.#change(request, url);
    if (method !== 'GET') return { status: 405 };
    if (url === '/v1/status') return json(await this.#service.status());
    if (url === '/v1/planes') return json(await this.#service.planes.names());
    const [, kind, name = ''] = /^\/v1\/(chunks|planes)\/([\w./-]+)$/.exec(url) ?? [];
    if (kind === 'planes')
      return found(await this.#service.planes.read(`planes/${name}`, planeBaseBytes(MAX_PLANE_POSITIONS)));
    if (kind === 'chunks' && /^[0-9a-f]{40}$/.test(name)) {
      return found(await this.#service.readChunk(Buffer.from(name, 'hex')));
    }
    return { status: 404 };
  }

  async #ask(request: IncomingMessage): Promise<Reply> {
    const ids = await readItems(request, MAX_ASKED_IDS, ID_BYTES);
    return json((await this.#service.ask(ids)).map((answer) => answer ?? null));
  }

  async #askPlanes(request: IncomingMessage): Promise<Reply> {
    const { askPlanes } = this.#options;
    if (askPlanes === undefined) return { status: 404 };
    return json(encodeHeldPlanes(askPlanes(await readItems(request, MAX_ASKED_IDS, ID_BYTES))));
  }

  async #change(request: IncomingMessage, url: string): Promise<Reply> {
    const [, domainId = '', holdId = '', name = ''] = HOLD.exec(url) ?? [];
    if (domainId !== '' && isDomainName(name)) {
      const ids = await readItems(request, MAX_HELD_IDS, ID_BYTES);
      return found(await this.#service.holds.place({ domainId, holdId, name, isOpen: false }, ids));
    }
    const [, askedId] = HELD.exec(url) ?? [];
    const [, holderId = askedId] = RELEASE.exec(url) ?? [];
    if (holderId === undefined) return { status: 404 };
    const text = (await readItems(request, MAX_ASKED_HOLDS, FILE_ID_BYTES)).toString('hex');
    const items = text.match(/.{64}/g) ?? [];
    if (askedId !== undefined) return json(await this.#service.holds.existing(holderId, items));
    await this.#service.holds.release(holderId, items);
    return { status: 200 };
  }

  #hasToken({ headers }: IncomingMessage): boolean {
    const given = Buffer.from(headers.authorization ?? '');
    const expected = Buffer.from(`Bearer ${this.#options.token}`);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}

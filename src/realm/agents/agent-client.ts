import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect as connectSocket } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { CorruptDataError } from '../../core/errors.ts';
import { PeerError } from '../coordination/realm-errors.ts';
import type { PeerErrorKind } from '../coordination/realm-errors.ts';
import { MAX_CHUNK_BYTES } from '../../core/format/constants.ts';
import type { AgentEndpoint } from '../formats/domain-records.ts';
import { parseJson } from '../../core/format/json-reader.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { answersOf, statusOf, stringsOf } from './agent-answers.ts';
import { fingerprintOf } from './agent-place.ts';
import { decodeHeldPlanes } from '../planes/held-planes.ts';
import type { HeldPlane } from '../planes/held-planes.ts';
import type { Hold } from '../../core/format/snapshot-marks.ts';
import { RequestQueue } from './request-queue.ts';
import type { Answer, Peer, PeerHolds, PeerStatus, PlaneFiles } from './peer.ts';

interface AgentClientOptions {
  readonly token: string;
  /** For each request. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 10_000;
/** The domain may have to wait for its lock, and to write. */
const CHANGE_DEADLINE_MS = 120_000;
/** An answer about 10,000 chunks has 2 MB. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Less than an agent accepts of one address before it knows them. */
const CONNECTIONS_MAX = 16;
/** Before a busy agent is asked again; doubles each time. */
const BACK_OFF_MS_MIN = 20;
const BACK_OFF_MS_MAX = 1000;

const KINDS_OF_STATUS: ReadonlyMap<number, PeerErrorKind> = new Map([
  [401, 'refused'],
  [409, 'refused'],
  [503, 'busy'],
]);

/** An agent of an earlier build does not know such a hold, and places none. */
const BY_SECRET = '?by=secret';

interface SendOptions {
  readonly limitBytes: number;
  readonly body?: Uint8Array | undefined;
  readonly deadlineMs?: number;
}

/** What a client sees of a connection that an agent has closed because it had too many. */
const DROPPED = new Set(['ECONNRESET', 'EPIPE']);

/** Asks an agent, and again until the deadline while it is busy. Each request has a connection of its own. */
export class AgentClient implements Peer {
  readonly planes: PlaneFiles;
  readonly holds: PeerHolds;
  readonly #endpoint: AgentEndpoint;
  readonly #options: AgentClientOptions;
  readonly #queue = new RequestQueue({ runningMax: CONNECTIONS_MAX, waitingMax: Infinity });

  constructor(endpoint: AgentEndpoint, options: AgentClientOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.planes = {
      names: async () => this.#json('/v1/planes', (value) => stringsOf(value)),
      read: async (name, limitBytes) => this.#send(`/v1/${name}`, { limitBytes }),
    };
    this.holds = {
      place: async (hold, ids) => this.#placeHold(hold, ids),
      existing: async (holderId, holdIds) => {
        const body = Buffer.from(holdIds.join(''), 'hex');
        return await this.#json(`/v1/held/${holderId}`, (value) => stringsOf(value), body);
      },
      release: async (holderId, keys) => {
        const body = Buffer.from(keys.join(''), 'hex');
        await this.#send(`/v1/release/${holderId}`, { limitBytes: 0, body, deadlineMs: CHANGE_DEADLINE_MS });
      },
    };
  }

  /** Whether the agent answers: one that was killed may still be announced. */
  async isThere(): Promise<boolean> {
    try {
      await this.status();
      return true;
    } catch (error) {
      if (error instanceof PeerError) return false;
      throw error;
    }
  }

  async ask(ids: Uint8Array): Promise<readonly Answer[]> {
    const answers = await this.#json('/v1/ask', (value) => answersOf(value), ids);
    if (answers.length === ids.length / ID_BYTES) return answers;
    throw this.#error('invalid', 'it gave another number of answers than there were questions');
  }

  /** What its planes of the other domains say about `ids`: up to `MAX_ASKED_IDS` ids of 20 bytes, one after another. */
  async askPlanes(ids: Uint8Array): Promise<readonly HeldPlane[]> {
    return await this.#json('/v1/candidates', (value) => decodeHeldPlanes(value, ids.length / ID_BYTES), ids);
  }

  async readChunk(id: Uint8Array): Promise<Uint8Array | undefined> {
    const path = `/v1/chunks/${Buffer.from(id).toString('hex')}`;
    return await this.#send(path, { limitBytes: MAX_CHUNK_BYTES });
  }

  async status(): Promise<PeerStatus> {
    return await this.#json('/v1/status', (value) => statusOf(value));
  }

  async close(): Promise<void> {
    // Nothing is kept open.
  }

  async #placeHold({ domainId, holdId, name, isOpen }: Hold, ids: Uint8Array): Promise<Uint8Array> {
    const limitBytes = ids.length / ID_BYTES;
    const options = { limitBytes, body: ids, deadlineMs: CHANGE_DEADLINE_MS };
    const kept = await this.#send(`/v1/holds/${domainId}/${holdId}/${name}${isOpen ? '' : BY_SECRET}`, options);
    if (kept?.length === limitBytes) return kept;
    throw this.#error('invalid', 'it did not say of each chunk whether it is kept');
  }

  async #json<T>(path: string, read: (value: unknown) => T, body?: Uint8Array): Promise<T> {
    const bytes = await this.#send(path, { limitBytes: MAX_ANSWER_BYTES, body });
    if (bytes === undefined) throw this.#error('invalid', `it does not know ${path}`);
    try {
      return read(parseJson(bytes, { maxBytes: MAX_ANSWER_BYTES, what: 'its answer' }));
    } catch (error) {
      if (error instanceof CorruptDataError) throw this.#error('invalid', error.message, error);
      throw error;
    }
  }

  /** Returns the body; undefined for 404. */
  async #send(path: string, options: SendOptions): Promise<Uint8Array | undefined> {
    await this.#queue.enter();
    try {
      return await this.#sendUntilDeadline(path, options);
    } finally {
      this.#queue.leave();
    }
  }

  async #sendUntilDeadline(path: string, options: SendOptions): Promise<Uint8Array | undefined> {
    const signal = AbortSignal.timeout(options.deadlineMs ?? this.#options.deadlineMs ?? DEADLINE_MS);
    let busy: PeerError | undefined;
    for (let backOffMs = BACK_OFF_MS_MIN; ; backOffMs = Math.min(2 * backOffMs, BACK_OFF_MS_MAX)) {
      try {
        return await this.#sendOnce(path, options, signal);
      } catch (error) {
        const isBusy = error instanceof PeerError && error.kind === 'busy';
        if (isBusy) busy = error;
        else if (busy === undefined || !signal.aborted) throw error;
      }
      // Not all clients at the same time again.
      await sleep(randomInt(backOffMs / 2, 2 * backOffMs), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw busy;
    }
  }

  async #sendOnce(
    path: string,
    { limitBytes, body }: SendOptions,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    let socket: Socket | undefined;
    try {
      const opened = (socket = await this.#connect(signal));
      const headers = { authorization: `Bearer ${this.#options.token}`, 'content-length': body?.length ?? 0 };
      const method = body === undefined ? 'GET' : 'POST';
      // Without an agent of Node, which would make connections itself.
      const sent = httpRequest({ path, method, headers, signal, createConnection: () => opened });
      const answered = once(sent, 'response');
      sent.end(body);
      const [response] = (await answered) as [IncomingMessage];
      const bytes = await this.#readBody(response, limitBytes);
      if (response.statusCode === 200) return bytes;
      if (response.statusCode === 404) return undefined;
      const kind = KINDS_OF_STATUS.get(response.statusCode ?? 0) ?? 'invalid';
      const isFull = response.statusCode === 409;
      throw this.#error(kind, isFull ? 'it has too many holds' : `it answered with status ${response.statusCode}`);
    } catch (error) {
      if (error instanceof PeerError) throw error;
      if (signal.aborted) throw this.#error('unreachable', 'it did not answer in time', error);
      const { message: reason, code = '' } = error as NodeJS.ErrnoException;
      throw this.#error(DROPPED.has(code) ? 'busy' : 'unreachable', reason, error);
    } finally {
      socket?.destroy();
    }
  }

  /** The token is sent only to the agent that the domain has announced. */
  async #connect(signal: AbortSignal): Promise<Socket> {
    if (this.#endpoint.kind === 'socket') {
      return await connected(connectSocket(this.#endpoint.path), 'connect', signal);
    }
    const { hostname: host, port } = new URL(this.#endpoint.url);
    // Its fingerprint is compared instead, which says more than a name.
    const socket = connectTls({ host: host.replaceAll(/[[\]]/g, ''), port: Number(port), rejectUnauthorized: false });
    await connected(socket, 'secureConnect', signal);
    const { fingerprint256 } = socket.getPeerCertificate();
    if (fingerprintOf({ fingerprint256: fingerprint256 ?? '' }) === this.#endpoint.fingerprint) return socket;
    socket.destroy();
    throw this.#error('refused', 'its certificate is not the one that its domain has announced');
  }

  async #readBody(response: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    for await (const part of response as AsyncIterable<Buffer>) {
      sizeBytes += part.length;
      if (sizeBytes > limitBytes) throw this.#error('invalid', `its answer is longer than ${limitBytes} bytes`);
      parts.push(part);
    }
    if (!response.complete) throw this.#error('unreachable', 'its answer is incomplete');
    return Buffer.concat(parts);
  }

  #error(kind: PeerErrorKind, reason: string, cause?: unknown): PeerError {
    const at = this.#endpoint.kind === 'socket' ? this.#endpoint.path : this.#endpoint.url;
    return new PeerError(`the agent at ${at} cannot be asked: ${reason}`, { kind, cause });
  }
}

async function connected(socket: Socket, event: string, signal: AbortSignal): Promise<Socket> {
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    // It may still fail after the deadline, and nothing would hear that.
    socket.destroy();
    throw error;
  }
}

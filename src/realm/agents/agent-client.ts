import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect as connectSocket } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { CorruptDataError } from '../../core/errors.ts';
import { PeerError } from '../coordination/realm-errors.ts';
import type { PeerErrorKind } from '../coordination/realm-errors.ts';
import { MAX_CHUNK_BYTES } from '../../core/format/constants.ts';
import type { AgentEndpoint } from '../formats/domain-records.ts';
import { JsonReader, hexPattern, parseJson } from '../../core/format/json-reader.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { fingerprintOf } from './agent-place.ts';
import { decodeHeldPlanes } from '../planes/held-planes.ts';
import type { HeldPlane } from '../planes/held-planes.ts';
import type { Hold } from '../../core/format/snapshot-marks.ts';
import type { Answer, KnownChunk, Peer, PeerHolds, PeerStatus, PlaneFiles } from './peer.ts';

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
const HEX_256 = hexPattern(32);

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

/** Asks an agent. Each request has a connection of its own. */
export class AgentClient implements Peer {
  readonly planes: PlaneFiles;
  readonly holds: PeerHolds;
  readonly #endpoint: AgentEndpoint;
  readonly #options: AgentClientOptions;

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
  async #send(path: string, { limitBytes, body, deadlineMs }: SendOptions): Promise<Uint8Array | undefined> {
    const signal = AbortSignal.timeout(deadlineMs ?? this.#options.deadlineMs ?? DEADLINE_MS);
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
      const reason = error instanceof Error ? error.message : String(error);
      throw this.#error('unreachable', signal.aborted ? 'it did not answer in time' : reason, error);
    } finally {
      socket?.destroy();
    }
  }

  /** The token is sent only to the agent that the domain has announced. */
  async #connect(signal: AbortSignal): Promise<Socket> {
    if (this.#endpoint.kind === 'socket') {
      const socket = connectSocket(this.#endpoint.path);
      await once(socket, 'connect', { signal });
      return socket;
    }
    const { hostname: host, port } = new URL(this.#endpoint.url);
    // Its fingerprint is compared instead, which says more than a name.
    const socket = connectTls({ host: host.replaceAll(/[[\]]/g, ''), port: Number(port), rejectUnauthorized: false });
    await once(socket, 'secureConnect', { signal });
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

function stringsOf(value: unknown): string[] {
  return new JsonReader({ names: value }, 'its answer').strings('names');
}

function statusOf(value: unknown): PeerStatus {
  const reader = new JsonReader(value, 'its answer');
  return { domainId: reader.string('domainId', HEX_256), liveCount: reader.count('liveCount') };
}

function answersOf(value: unknown): Answer[] {
  if (!Array.isArray(value)) throw new CorruptDataError('its answer is not a list');
  return value.map((each: unknown) => (each === null ? undefined : answerOf(new JsonReader(each, 'its answer'))));
}

/** @throws CorruptDataError */
export function answerOf(reader: JsonReader): KnownChunk {
  return {
    packId: reader.string('packId', HEX_256),
    blockOffset: reader.count('blockOffset'),
    offsetInBlock: reader.count('offsetInBlock'),
    lengthBytes: reader.count('lengthBytes'),
    refs: reader.count('refs'),
    state: reader.oneOf('state', ['live', 'dead', 'condemned']),
  };
}

import { CorruptDataError } from '../../core/errors.ts';
import { FILE_ID_BYTES } from '../../core/format/constants.ts';
import { JsonReader, hexPattern, parseJson } from '../../core/format/json-reader.ts';

/** A member of a realm. Its id is that of the repository. */
export interface DomainMember {
  /** A short name that people use, unique within the realm. */
  readonly name: string;
  /** The machine on which it joined, for display. */
  readonly host: string;
  /** A digest of the identity of that machine, in hex. */
  readonly machine?: string;
  /** Where its repository is, as its own machine calls it. */
  readonly place: string;
}

/** Where a running agent answers. */
export type AgentEndpoint =
  | { readonly kind: 'socket'; readonly path: string; readonly host: string }
  | { readonly kind: 'tls'; readonly url: string; readonly fingerprint: string };

/** What a domain has published. */
export interface PublishedState {
  /** One more with each new base file. */
  readonly generation: number;
  /** One more with each publication. */
  readonly sequence: number;
  /** m and k of the filter, and the number of live chunks. */
  readonly positions: number;
  readonly hashes: number;
  readonly liveCount: number;
  /** SHA-256 of the whole plane, in hex. */
  readonly checksum: string;
  /** The digest of the ids of its snapshots, in hex. */
  readonly snapshots?: string | undefined;
}

/** Authenticates records. */
interface RecordKeys {
  mac(...parts: readonly Uint8Array[]): Uint8Array;
  verifies(mac: Uint8Array, ...parts: readonly Uint8Array[]): boolean;
}

const MAX_BYTES = 64 * 1024;
const MAX_TEXT = 4096;
const MAX_POSITIONS = 2 ** 31 - 1;
const HEX_256 = hexPattern(FILE_ID_BYTES);
/** Names go into tables, file names of sockets, and command lines. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function isDomainName(text: string): boolean {
  return NAME.test(text);
}

/** The text that a record is bound to: a record of another domain, realm or kind is not accepted in its place. */
export interface RecordPlace {
  readonly realmId: string;
  readonly domainId: string;
  readonly kind: 'members' | 'live' | 'state';
}

function bindingOf({ realmId, domainId, kind }: RecordPlace): Buffer {
  return Buffer.from(`${realmId}/${kind}/${domainId}\n`);
}

/** A record: the members as JSON on one line, and the MAC in hex on the next. */
function encodeRecord(members: object, place: RecordPlace, keys: RecordKeys): Buffer {
  const body = Buffer.from(`${JSON.stringify(members)}\n`);
  return Buffer.concat([body, Buffer.from(`${Buffer.from(keys.mac(bindingOf(place), body)).toString('hex')}\n`)]);
}

/** @throws CorruptDataError if the record is damaged, or was not written by a member of the realm for this place */
function readRecord(bytes: Uint8Array, place: RecordPlace, keys: RecordKeys): JsonReader {
  const what = `the record ${place.kind}/${place.domainId.slice(0, 8)}`;
  const end = bytes.indexOf(0x0a) + 1;
  const mac = Buffer.from(Buffer.from(bytes.subarray(end)).toString('latin1').trimEnd(), 'hex');
  const body = bytes.subarray(0, end);
  if (end === 0 || !keys.verifies(mac, bindingOf(place), body)) {
    throw new CorruptDataError(`${what} was not written by a member of this realm, or is damaged`);
  }
  return new JsonReader(parseJson(body, { maxBytes: MAX_BYTES, what }), what);
}

function isShort(text: string): boolean {
  return text.length <= MAX_TEXT;
}

export function encodeMember(member: DomainMember, place: RecordPlace, keys: RecordKeys): Buffer {
  const { name, host, machine, place: where } = member;
  return encodeRecord({ name, host, machine, place: where }, place, keys);
}

/** @throws CorruptDataError */
export function decodeMember(bytes: Uint8Array, place: RecordPlace, keys: RecordKeys): DomainMember {
  const reader = readRecord(bytes, place, keys);
  const texts = { host: reader.string('host', isShort), place: reader.string('place', isShort) };
  const machine = reader.has('machine') ? reader.string('machine', HEX_256) : undefined;
  return { name: reader.string('name', NAME), ...texts, ...(machine === undefined ? {} : { machine }) };
}

export function encodeEndpoint(endpoint: AgentEndpoint, place: RecordPlace, keys: RecordKeys): Buffer {
  return encodeRecord(endpoint, place, keys);
}

/** @throws CorruptDataError */
export function decodeEndpoint(bytes: Uint8Array, place: RecordPlace, keys: RecordKeys): AgentEndpoint {
  const reader = readRecord(bytes, place, keys);
  const kind = reader.oneOf('kind', ['socket', 'tls']);
  if (kind === 'socket') return { kind, path: reader.string('path', isShort), host: reader.string('host', isShort) };
  return { kind, url: reader.string('url', isShort), fingerprint: reader.string('fingerprint', HEX_256) };
}

export function encodeState(state: PublishedState, place: RecordPlace, keys: RecordKeys): Buffer {
  const { generation, sequence, positions: m, hashes: k, liveCount: n, checksum, snapshots } = state;
  return encodeRecord({ generation, sequence, m, k, n, checksum, snapshots }, place, keys);
}

/** @throws CorruptDataError */
export function decodeState(bytes: Uint8Array, place: RecordPlace, keys: RecordKeys): PublishedState {
  const reader = readRecord(bytes, place, keys);
  return {
    generation: reader.count('generation'),
    sequence: reader.count('sequence'),
    positions: reader.integer('m', 2, MAX_POSITIONS),
    hashes: reader.integer('k', 1, 32),
    liveCount: reader.count('n'),
    checksum: reader.string('checksum', HEX_256),
    ...(reader.has('snapshots') ? { snapshots: reader.string('snapshots', HEX_256) } : {}),
  };
}

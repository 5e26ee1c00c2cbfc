import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../../core/errors.ts';
import { encodeChunker, readChunker } from '../../core/format/chunker-config.ts';
import type { ChunkerConfig } from '../../core/format/chunker-config.ts';
import { FILE_ID_BYTES, KEY_SALT_BYTES, MAX_KEY_FILE_BYTES, MAX_KEY_TEXT_LENGTH } from '../../core/format/constants.ts';
import {
  JsonReader,
  encodeChecked,
  hexPattern,
  isHexKey,
  isUtcTime,
  parseChecked,
} from '../../core/format/json-reader.ts';
import { encodeKdf, membersBeforeSealed, readKdf } from '../../core/format/kdf-config.ts';
import type { KdfConfig } from '../../core/format/kdf-config.ts';

/** What all repositories of a realm have in common, without the keys. */
export interface RealmHeader {
  /** 64 hex digits, random. */
  readonly realmId: string;
  /** RFC 3339, UTC. */
  readonly created: string;
  /** A text by the user. */
  readonly name?: string | undefined;
  /** Whether the members are encrypted. An unencrypted repository stores the keys in its configuration in plain text. */
  readonly isEncrypted: boolean;
  readonly chunker: ChunkerConfig;
  readonly chunkHash: 'sha1' | 'sha256';
}

/** The keys of the members, in hex. */
export interface RealmSecrets {
  readonly idKey: string;
  /** Undefined in a realm of plain repositories. */
  readonly chunkerKey: string | undefined;
}

/** How the secrets are sealed under a password. */
export interface RealmSeal {
  readonly kdf: KdfConfig;
  /** 64 hex digits. */
  readonly salt: string;
}

/** A realm key file: its secrets can be read, or must be opened with a password first. */
export type RealmKeyFile = { readonly header: RealmHeader } & (
  | { readonly secrets: RealmSecrets }
  | {
      readonly secrets: undefined;
      readonly seal: RealmSeal;
      /** All members before the sealed keys. They cannot be opened with others. */
      readonly associatedData: Buffer;
      /** Nonce of 12 bytes, the keys sealed by AES-256-GCM, tag of 16 bytes. */
      readonly sealed: Buffer;
    }
);

const REALM_KEY_VERSION = 1;
const HEX_256 = hexPattern(FILE_ID_BYTES);
const SALT = hexPattern(KEY_SALT_BYTES);
const KEY_BYTES = 32;
/** Nonce and tag. */
const SEAL_BYTES = 12 + 16;

/** Encodes a realm key file with its secrets in plain text. */
export function encodeRealmKey(header: RealmHeader, { idKey, chunkerKey }: RealmSecrets): Buffer {
  const keys = { id_key: idKey, ...(chunkerKey === undefined ? {} : { chunker_key: chunkerKey }) };
  const bytes = encodeChecked({ ...membersOf(header), ...keys });
  const expected = { header: { ...header, name: header.name }, secrets: { idKey, chunkerKey } };
  assert.deepEqual(decodeRealmKey(bytes), expected, 'a realm key file must decode to its original value');
  return bytes;
}

/** Returns what must be authenticated together with the sealed keys. */
export function realmAssociatedData(header: RealmHeader, seal: RealmSeal): Buffer {
  return Buffer.from(JSON.stringify(sealMembersOf(header, seal)));
}

/** `sealed`: the `packSecrets` of the realm, sealed with the `realmAssociatedData` of this header. */
export function encodeSealedRealmKey(header: RealmHeader, seal: RealmSeal, sealed: Uint8Array): Buffer {
  const bytes = encodeChecked({ ...sealMembersOf(header, seal), sealed: Buffer.from(sealed).toString('hex') });
  const associatedData = realmAssociatedData(header, seal);
  const own = { ...header, name: header.name };
  const expected = { header: own, secrets: undefined, seal, associatedData, sealed: Buffer.from(sealed) };
  assert.deepEqual(decodeRealmKey(bytes), expected, 'a realm key file must decode to its original value');
  return bytes;
}

function sealMembersOf(header: RealmHeader, { kdf, salt }: RealmSeal): Record<string, unknown> {
  return { ...membersOf(header), kdf: encodeKdf(kdf), salt };
}

function membersOf({ realmId, created, name, isEncrypted, chunker, chunkHash }: RealmHeader): Record<string, unknown> {
  return {
    format_version: REALM_KEY_VERSION,
    realm_id: realmId,
    created,
    ...(name === undefined ? {} : { name }),
    is_encrypted: isEncrypted,
    chunker: encodeChunker(chunker),
    chunk_hash: chunkHash,
  };
}

/** Returns the keys as bytes, to be sealed: 32 bytes each, the key of the ids first. */
export function packSecrets({ idKey, chunkerKey = '' }: RealmSecrets): Buffer {
  return Buffer.from(`${idKey}${chunkerKey}`, 'hex');
}

export function unpackSecrets(bytes: Uint8Array): RealmSecrets {
  const hexOf = (part: Uint8Array): string => Buffer.from(part).toString('hex');
  const rest = bytes.subarray(KEY_BYTES);
  return { idKey: hexOf(bytes.subarray(0, KEY_BYTES)), chunkerKey: rest.length === 0 ? undefined : hexOf(rest) };
}

/**
 * Decodes a realm key file. Whether the header of a sealed one is the original one shows only when its keys are opened.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeRealmKey(bytes: Uint8Array, what = 'realm key file'): RealmKeyFile {
  const members = parseChecked(bytes, { maxBytes: MAX_KEY_FILE_BYTES, what });
  const all = new JsonReader(members, what);
  const isSealed = all.has('sealed');
  const before = isSealed ? membersBeforeSealed(members) : members;
  const reader = new JsonReader(before, what);
  const version = reader.count('format_version');
  if (version !== REALM_KEY_VERSION) {
    throw new UnsupportedFormatError(`${what}: realm key file version ${version} is not supported`, {
      hint: 'It was made by another version of ldm. Use a version that is at least as new.',
    });
  }
  const header = readHeader(reader);
  if (!isSealed) return { header, secrets: readSecrets(reader, header) };
  const sealedBytes = SEAL_BYTES + (header.isEncrypted ? 2 : 1) * KEY_BYTES;
  return {
    header,
    secrets: undefined,
    seal: { kdf: readKdf(reader.object('kdf')), salt: reader.string('salt', SALT) },
    associatedData: Buffer.from(JSON.stringify(before)),
    sealed: Buffer.from(all.string('sealed', hexPattern(sealedBytes)), 'hex'),
  };
}

function readHeader(reader: JsonReader): RealmHeader {
  return {
    realmId: reader.string('realm_id', HEX_256),
    created: reader.string('created', isUtcTime),
    name: reader.has('name') ? reader.string('name', (text) => text.length <= MAX_KEY_TEXT_LENGTH) : undefined,
    isEncrypted: reader.boolean('is_encrypted'),
    chunker: readChunker(reader.object('chunker')),
    chunkHash: reader.oneOf('chunk_hash', ['sha1', 'sha256']),
  };
}

function readSecrets(reader: JsonReader, { isEncrypted }: RealmHeader): RealmSecrets {
  const chunkerKey = isEncrypted ? reader.string('chunker_key', isHexKey) : undefined;
  return { idKey: reader.string('id_key', isHexKey), chunkerKey };
}

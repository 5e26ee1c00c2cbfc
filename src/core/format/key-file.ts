import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../errors.ts';
import {
  FILE_ID_BYTES,
  KEY_FILE_VERSION,
  KEY_SALT_BYTES,
  MAX_KEY_FILE_BYTES,
  MAX_KEY_EPOCH,
  MAX_KEY_TEXT_LENGTH,
  SEALED_KEY_BYTES,
} from './constants.ts';
import { encodeKdf, membersBeforeSealed, readKdf } from './kdf-config.ts';
import type { KdfConfig } from './kdf-config.ts';
import { JsonReader, encodeChecked, hexPattern, isUtcTime, parseChecked } from './json-reader.ts';

/**
 * What the owner of a password is meant to do: everything, only add snapshots, or only read. Everybody who knows the
 * master key could do everything: the permissions of the storage must enforce it.
 */
export const KEY_ROLES = ['full', 'backup', 'read'] as const;
export type KeyRole = (typeof KEY_ROLES)[number];

/** All that a key file says openly. */
export interface KeyHeader {
  readonly formatVersion: 1;
  /** 64 hex digits. */
  readonly repositoryId: string;
  /** Epoch of the master key: 1 for the first, and one more after each rotation. */
  readonly keyEpoch: number;
  readonly role: KeyRole;
  /** RFC 3339, UTC. */
  readonly created: string;
  /** Where and by whom the key was added. */
  readonly host: string;
  readonly user: string;
  /** A text by the user. */
  readonly label?: string | undefined;
  readonly kdf: KdfConfig;
  /** Salt of the password hash: 64 hex digits. */
  readonly salt: string;
}

/** A file in `keys/`: a master key that is sealed under a password. */
export interface KeyFile {
  readonly header: KeyHeader;
  /** All members before the sealed key. It cannot be opened with others. */
  readonly associatedData: Buffer;
  /** Nonce of 12 bytes, master key sealed by AES-256-GCM, tag of 16 bytes. */
  readonly sealed: Buffer;
}

const HEX_256 = hexPattern(FILE_ID_BYTES);
const SALT = hexPattern(KEY_SALT_BYTES);
const SEALED = hexPattern(SEALED_KEY_BYTES);

/** Returns what must be authenticated together with the master key of a new key file. */
export function associatedDataOf(header: KeyHeader): Buffer {
  return Buffer.from(JSON.stringify(membersOf(header)));
}

/** `sealed`: see `KeyFile`. It must be sealed with the `associatedDataOf` this header. */
export function encodeKeyFile(header: KeyHeader, sealed: Uint8Array): Buffer {
  const bytes = encodeChecked({ ...membersOf(header), sealed: Buffer.from(sealed).toString('hex') });
  assert.deepEqual(
    decodeKeyFile(bytes),
    { header, associatedData: associatedDataOf(header), sealed: Buffer.from(sealed) },
    'a key file must decode to its original value',
  );
  return bytes;
}

function membersOf(header: KeyHeader): Record<string, unknown> {
  return {
    format_version: header.formatVersion,
    repository_id: header.repositoryId,
    key_epoch: header.keyEpoch,
    role: header.role,
    created: header.created,
    host: header.host,
    user: header.user,
    ...(header.label === undefined ? {} : { label: header.label }),
    kdf: encodeKdf(header.kdf),
    salt: header.salt,
  };
}

/**
 * Decodes a key file. Whether the header is the original one shows only when the sealed key is opened.
 * @throws CorruptDataError also if the key could not be opened at a reasonable cost, or would be opened at next to none
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeKeyFile(bytes: Uint8Array, what = 'key file'): KeyFile {
  const members = parseChecked(bytes, { maxBytes: MAX_KEY_FILE_BYTES, what });
  // Members behind the sealed key are not authenticated, so nothing is read from there.
  const before = membersBeforeSealed(members);
  const reader = new JsonReader(before, what);
  const version = reader.count('format_version');
  if (version !== KEY_FILE_VERSION) {
    throw new UnsupportedFormatError(`${what}: key file version ${version} is not supported`);
  }
  const header: KeyHeader = {
    formatVersion: version,
    repositoryId: reader.string('repository_id', HEX_256),
    keyEpoch: reader.integer('key_epoch', 1, MAX_KEY_EPOCH),
    role: reader.oneOf('role', KEY_ROLES),
    created: reader.string('created', isUtcTime),
    host: reader.string('host', isShort),
    user: reader.string('user', isShort),
    ...(reader.has('label') ? { label: reader.string('label', isShort) } : {}),
    kdf: readKdf(reader.object('kdf')),
    salt: reader.string('salt', SALT),
  };
  const sealed = Buffer.from(new JsonReader(members, what).string('sealed', SEALED), 'hex');
  return { header, associatedData: Buffer.from(JSON.stringify(before)), sealed };
}

function isShort(text: string): boolean {
  return text.length <= MAX_KEY_TEXT_LENGTH;
}

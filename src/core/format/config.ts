import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { CorruptDataError, UnsupportedFormatError } from '../errors.ts';
import { encodeChunker, readChunker } from './chunker-config.ts';
import type { ChunkerConfig } from './chunker-config.ts';
import { CONFIG_VERSION, FILE_ID_BYTES, MAX_CONFIG_BYTES, MAX_KEY_EPOCH } from './constants.ts';
import { JsonReader, encodeChecked, hexPattern, isHexKey, isUtcTime, parseChecked, parseJson } from './json-reader.ts';
import type { RepositoryKind } from './layout.ts';

/** The settings of a repository, chosen when it is created and never changed. */
export interface RepositoryConfig {
  readonly formatVersion: 1;
  /** 64 hex digits. */
  readonly repositoryId: string;
  /** RFC 3339, UTC. */
  readonly created: string;
  readonly chunker: ChunkerConfig;
  readonly chunkHash: 'sha1' | 'sha256';
  /** Hash that names the packs. */
  readonly packHash: 'blake3' | 'sha256';
  /** Key of the chunk ids: 64 hex digits. */
  readonly idKey: string;
  readonly ldm: { readonly fprTarget: number; readonly hashes: number; readonly capacity: number };
  readonly compression: { readonly algorithm: 'zstd'; readonly level: number };
  /** Nothing may be removed unless a person asks for it explicitly. */
  readonly isAppendOnly?: true;
  /** Its place does not let several clients exclude each other. */
  readonly isSingleWriter?: true;
  /** Packs are in storage groups. */
  readonly hasGroups?: true;
  /** The realm whose keys it has: 64 hex digits. Undefined if it was created without one. */
  readonly realmId?: string;
  /** Undefined in a plain repository. */
  readonly encryption?: EncryptionConfig | undefined;
}

/** What only encrypted repositories have. */
interface EncryptionConfig {
  /** Key of the chunker: 64 hex digits. */
  readonly chunkerKey: string;
  /** The master keys before the last rotation, in hex, which open what was sealed with them. */
  readonly earlierKeys: readonly { readonly epoch: number; readonly key: string }[];
}

/** What can be read without a key. */
export interface ConfigHead extends RepositoryKind {
  readonly repositoryId: string;
  readonly isAppendOnly: boolean;
  readonly isSingleWriter: boolean;
  readonly hasGroups: boolean;
  readonly packHash: RepositoryConfig['packHash'];
}

export function kindOf({ encryption, realmId }: Pick<RepositoryConfig, 'encryption' | 'realmId'>): RepositoryKind {
  return { isEncrypted: encryption !== undefined, isInRealm: realmId !== undefined };
}

/** Seals all but the head of the configuration of an encrypted repository. */
export interface ConfigSeals {
  seal(plain: Uint8Array): Uint8Array;
  open(sealed: Uint8Array): Uint8Array;
}

/** Packs are named by BLAKE3. A program that supports only SHA-256 would consider every pack damaged. */
export const BLAKE3_PACKS = 'blake3-packs';
/** Everything is sealed, except for `keys/` and the head of `config`. */
export const ENCRYPTION = 'encryption';
/** Nothing is removed. A program that does not know this could remove something by mistake. */
export const APPEND_ONLY = 'append-only';
/** Only one client may write at a time, and a person sees to that. */
export const SINGLE_WRITER = 'single-writer';
/** Packs are in the places that the file `groups` lists. A program that does not know this would take them for lost. */
export const STORAGE_GROUPS = 'storage-groups';
/** Other repositories may need what is in it. A program that does not know this could remove that. */
export const REALM = 'realm';
/** A program that does not know a required feature must not access the repository. */
const KNOWN_FEATURES: readonly string[] = [BLAKE3_PACKS, ENCRYPTION, APPEND_ONLY, SINGLE_WRITER, STORAGE_GROUPS, REALM];

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const HEX_256 = hexPattern(FILE_ID_BYTES);
const MAX_HASHES = 32;
const MIN_LEVEL = -131_072;
const MAX_LEVEL = 22;

/** `seals`: needed for an encrypted repository. */
export function encodeConfig(config: RepositoryConfig, seals?: ConfigSeals): Buffer {
  const { encryption } = config;
  const head = {
    format_version: config.formatVersion,
    required_features: [
      ...(config.packHash === 'blake3' ? [BLAKE3_PACKS] : []),
      ...(encryption === undefined ? [] : [ENCRYPTION]),
      ...(config.isAppendOnly === true ? [APPEND_ONLY] : []),
      ...(config.isSingleWriter === true ? [SINGLE_WRITER] : []),
      ...(config.hasGroups === true ? [STORAGE_GROUPS] : []),
      ...(config.realmId === undefined ? [] : [REALM]),
    ],
    repository_id: config.repositoryId,
  };
  const settings = {
    ...head,
    created: config.created,
    chunker: encodeChunker(config.chunker),
    chunk_hash: config.chunkHash,
    id_key: config.idKey,
    ldm: { fpr_target: config.ldm.fprTarget, hashes: config.ldm.hashes, capacity: config.ldm.capacity },
    compression: { algorithm: config.compression.algorithm, level: config.compression.level },
    ...(config.realmId === undefined ? {} : { realm_id: config.realmId }),
  };
  const body = encryption === undefined ? settings : { ...head, sealed: sealSettings(settings, encryption, seals) };
  const bytes = encodeChecked(body);
  assert.deepEqual(decodeConfig(bytes, { seals }), config, 'a configuration must decode to its original value');
  return bytes;
}

function sealSettings(settings: object, { chunkerKey, earlierKeys }: EncryptionConfig, seals?: ConfigSeals): string {
  assert(seals !== undefined, 'an encrypted configuration needs a key');
  const secret = { ...settings, chunker_key: chunkerKey, earlier_keys: earlierKeys };
  return Buffer.from(seals.seal(Buffer.from(JSON.stringify(secret)))).toString('base64');
}

/**
 * Decodes what can be read without a key.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version or a required feature is unknown
 */
export function decodeConfigHead(bytes: Uint8Array, what = 'config'): ConfigHead {
  return readHead(verifiedReader(bytes, what), what);
}

/**
 * Returns what is sealed of the configuration of an encrypted repository.
 * @throws CorruptDataError
 */
export function sealedPartOf(bytes: Uint8Array, what = 'config'): Buffer {
  return readSealed(verifiedReader(bytes, what));
}

/**
 * `seals`: needed for an encrypted repository.
 * @throws as `decodeConfigHead`
 */
export function decodeConfig(
  bytes: Uint8Array,
  options: { readonly seals?: ConfigSeals | undefined; readonly what?: string } = {},
): RepositoryConfig {
  const { seals, what = 'config' } = options;
  const reader = verifiedReader(bytes, what);
  const head = readHead(reader, what);
  if (!head.isEncrypted) return readSettings(reader, head);
  assert(seals !== undefined, 'an encrypted configuration needs a key');
  const plain = seals.open(readSealed(reader));
  const secret = new JsonReader(parseJson(plain, { maxBytes: MAX_CONFIG_BYTES, what }), what);
  plain.fill(0);
  // The head outside the seal could have been changed.
  if (!isDeepStrictEqual(readHead(secret, what), head)) throw new CorruptDataError(`${what}: its head was changed`);
  return { ...readSettings(secret, head), encryption: readEncryption(secret) };
}

function readSealed(reader: JsonReader): Buffer {
  const sealed = reader.string('sealed', (text) => BASE64.test(text));
  return Buffer.from(sealed, 'base64');
}

function verifiedReader(bytes: Uint8Array, what: string): JsonReader {
  return new JsonReader(parseChecked(bytes, { maxBytes: MAX_CONFIG_BYTES, what }), what);
}

function readHead(reader: JsonReader, what: string): ConfigHead {
  const version = reader.count('format_version');
  if (version !== CONFIG_VERSION) {
    throw new UnsupportedFormatError(`${what}: repository version ${version} is not supported`);
  }
  const requiredFeatures = reader.strings('required_features');
  const unknown = requiredFeatures.filter((feature) => !KNOWN_FEATURES.includes(feature));
  if (unknown.length > 0) {
    throw new UnsupportedFormatError(
      `${what}: the repository needs features that this version of ldm does not have: ${unknown.join(', ')}`,
    );
  }
  return {
    repositoryId: reader.string('repository_id', HEX_256),
    isEncrypted: requiredFeatures.includes(ENCRYPTION),
    isAppendOnly: requiredFeatures.includes(APPEND_ONLY),
    isSingleWriter: requiredFeatures.includes(SINGLE_WRITER),
    hasGroups: requiredFeatures.includes(STORAGE_GROUPS),
    isInRealm: requiredFeatures.includes(REALM),
    packHash: requiredFeatures.includes(BLAKE3_PACKS) ? 'blake3' : 'sha256',
  };
}

function readSettings(reader: JsonReader, head: ConfigHead): RepositoryConfig {
  const { repositoryId, packHash, isAppendOnly, isSingleWriter, hasGroups, isInRealm } = head;
  const ldm = reader.object('ldm');
  const fprTarget = ldm.number('fpr_target');
  if (fprTarget <= 0 || fprTarget >= 1) ldm.fail('fpr_target', `is ${fprTarget}, which is not between 0 and 1`);
  const compression = reader.object('compression');
  return {
    formatVersion: CONFIG_VERSION,
    repositoryId,
    created: reader.string('created', isUtcTime),
    chunker: readChunker(reader.object('chunker')),
    chunkHash: reader.oneOf('chunk_hash', ['sha1', 'sha256']),
    packHash,
    idKey: reader.string('id_key', isHexKey),
    ldm: {
      fprTarget,
      hashes: ldm.integer('hashes', 1, MAX_HASHES),
      capacity: ldm.integer('capacity', 1, Number.MAX_SAFE_INTEGER),
    },
    compression: {
      algorithm: compression.oneOf('algorithm', ['zstd']),
      level: compression.integer('level', MIN_LEVEL, MAX_LEVEL),
    },
    ...(isAppendOnly ? { isAppendOnly } : {}),
    ...(isSingleWriter ? { isSingleWriter } : {}),
    ...(hasGroups ? { hasGroups } : {}),
    ...(isInRealm ? { realmId: reader.string('realm_id', HEX_256) } : {}),
  };
}

function readEncryption(reader: JsonReader): EncryptionConfig {
  const earlierKeys = reader.objects('earlier_keys').map((earlier) => ({
    epoch: earlier.integer('epoch', 1, MAX_KEY_EPOCH),
    key: earlier.string('key', isHexKey),
  }));
  return { chunkerKey: reader.string('chunker_key', isHexKey), earlierKeys };
}

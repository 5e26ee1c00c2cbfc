import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { CorruptDataError, UnsupportedFormatError } from '../errors.ts';
import { CONFIG_VERSION, FILE_ID_BYTES, MAX_CHUNK_BYTES, MAX_CONFIG_BYTES } from './constants.ts';
import { JsonReader, hexPattern, isUtcTime, parseJson } from './json-reader.ts';

/** Chunking parameters. Structurally the same as the parameters of the chunkers. */
type ChunkerConfig =
  | {
      readonly kind: 'fastcdc';
      readonly minSizeBytes: number;
      readonly averageSizeBytes: number;
      readonly maxSizeBytes: number;
    }
  | { readonly kind: 'fixed'; readonly sizeBytes: number };

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
}

/** Packs are named by BLAKE3. A program that supports only SHA-256 would consider every pack damaged. */
export const BLAKE3_PACKS = 'blake3-packs';
/** A program that does not know a required feature must not access the repository. */
const KNOWN_FEATURES: readonly string[] = [BLAKE3_PACKS];

const HEX_256 = hexPattern(FILE_ID_BYTES);
/** The last byte. Without it the file is truncated, even if the rest is valid JSON. */
const LINE_FEED = 0x0a;
const MAX_HASHES = 32;
const MIN_LEVEL = -131_072;
const MAX_LEVEL = 22;

export function encodeConfig(config: RepositoryConfig): Buffer {
  const body = {
    format_version: config.formatVersion,
    required_features: config.packHash === 'blake3' ? [BLAKE3_PACKS] : [],
    repository_id: config.repositoryId,
    created: config.created,
    chunker: encodeChunker(config.chunker),
    chunk_hash: config.chunkHash,
    id_key: config.idKey,
    ldm: { fpr_target: config.ldm.fprTarget, hashes: config.ldm.hashes, capacity: config.ldm.capacity },
    compression: { algorithm: config.compression.algorithm, level: config.compression.level },
  };
  const bytes = Buffer.from(`${JSON.stringify({ ...body, checksum: checksumOf(body) }, undefined, 2)}\n`);
  assert.deepEqual(decodeConfig(bytes), config, 'a configuration must decode to its original value');
  return bytes;
}

function encodeChunker(chunker: ChunkerConfig): Record<string, number | string> {
  if (chunker.kind === 'fixed') return { kind: chunker.kind, size_bytes: chunker.sizeBytes };
  return {
    kind: chunker.kind,
    min_size_bytes: chunker.minSizeBytes,
    average_size_bytes: chunker.averageSizeBytes,
    max_size_bytes: chunker.maxSizeBytes,
  };
}

/**
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version or a required feature is unknown
 */
export function decodeConfig(bytes: Uint8Array, what = 'config'): RepositoryConfig {
  if (bytes.at(-1) !== LINE_FEED) throw new CorruptDataError(`${what}: its last line is incomplete`);
  const parsed = parseJson(bytes, { maxBytes: MAX_CONFIG_BYTES, what });
  const reader = new JsonReader(parsed, what);
  // Every version has the same checksum, so that damage is never mistaken for a newer version.
  const { checksum, ...body } = parsed as Record<string, unknown>;
  if (checksum !== checksumOf(body)) throw new CorruptDataError(`${what}: wrong checksum`);
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
  const ldm = reader.object('ldm');
  const fprTarget = ldm.number('fpr_target');
  if (fprTarget <= 0 || fprTarget >= 1) ldm.fail('fpr_target', `is ${fprTarget}, which is not between 0 and 1`);
  const compression = reader.object('compression');
  return {
    formatVersion: version,
    repositoryId: reader.string('repository_id', HEX_256),
    created: reader.string('created', isUtcTime),
    chunker: readChunker(reader.object('chunker')),
    chunkHash: reader.oneOf('chunk_hash', ['sha1', 'sha256']),
    packHash: requiredFeatures.includes(BLAKE3_PACKS) ? 'blake3' : 'sha256',
    idKey: reader.string('id_key', HEX_256),
    ldm: {
      fprTarget,
      hashes: ldm.integer('hashes', 1, MAX_HASHES),
      capacity: ldm.integer('capacity', 1, Number.MAX_SAFE_INTEGER),
    },
    compression: {
      algorithm: compression.oneOf('algorithm', ['zstd']),
      level: compression.integer('level', MIN_LEVEL, MAX_LEVEL),
    },
  };
}

function readChunker(reader: JsonReader): ChunkerConfig {
  const kind = reader.oneOf('kind', ['fastcdc', 'fixed']);
  if (kind === 'fixed') return { kind, sizeBytes: reader.integer('size_bytes', 1, MAX_CHUNK_BYTES) };
  const maxSizeBytes = reader.integer('max_size_bytes', 1, MAX_CHUNK_BYTES);
  const averageSizeBytes = reader.integer('average_size_bytes', 1, maxSizeBytes);
  const minSizeBytes = reader.integer('min_size_bytes', 1, averageSizeBytes);
  return { kind, minSizeBytes, averageSizeBytes, maxSizeBytes };
}

/** SHA-256 of the members in their given order, without whitespace. */
function checksumOf(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex');
}

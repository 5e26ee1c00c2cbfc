import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import { decodeConfig, encodeConfig } from '../../../src/core/format/config.ts';
import type { RepositoryConfig } from '../../../src/core/format/config.ts';
import { expectNoSurprise, isReported } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const MIB = 1024 * 1024;

const SAMPLE: RepositoryConfig = {
  formatVersion: 1,
  repositoryId: '01'.repeat(32),
  created: '2026-01-02T03:04:05.678Z',
  chunker: { kind: 'fastcdc', minSizeBytes: MIB / 4, averageSizeBytes: MIB, maxSizeBytes: 4 * MIB },
  chunkHash: 'sha1',
  packHash: 'sha256',
  idKey: 'fe'.repeat(32),
  ldm: { fprTarget: 0.0078, hashes: 7, capacity: 1_000_000 },
  compression: { algorithm: 'zstd', level: 3 },
};

type Json = Record<string, unknown>;

/** The sample with other members, and a checksum that agrees. */
function forge(members: Json): Buffer {
  const { checksum: _, ...sample } = JSON.parse(encodeConfig(SAMPLE).toString()) as Json;
  const body = { ...sample, ...members };
  const checksum = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  return Buffer.from(`${JSON.stringify({ ...body, checksum })}\n`);
}

describe('config', () => {
  test.each<[string, Partial<RepositoryConfig>]>([
    ['as it is', {}],
    ['with chunks of one size', { chunker: { kind: 'fixed', sizeBytes: 64 * MIB } }],
    ['with SHA-256', { chunkHash: 'sha256' }],
    ['with packs named by BLAKE3', { packHash: 'blake3' }],
    ['append-only', { isAppendOnly: true }],
    ['of a realm', { realmId: '23'.repeat(32) }],
    ['with a negative level', { compression: { algorithm: 'zstd', level: -5 } }],
  ])('reads back as it was written: %s', (_, fields) => {
    const config = { ...SAMPLE, ...fields };
    expect(decodeConfig(encodeConfig(config))).toEqual(config);
  });

  test('keeps its bytes', () => {
    expect(encodeConfig(SAMPLE).toString()).toMatchInlineSnapshot(`
      "{
        "format_version": 1,
        "required_features": [],
        "repository_id": "0101010101010101010101010101010101010101010101010101010101010101",
        "created": "2026-01-02T03:04:05.678Z",
        "chunker": {
          "kind": "fastcdc",
          "min_size_bytes": 262144,
          "average_size_bytes": 1048576,
          "max_size_bytes": 4194304
        },
        "chunk_hash": "sha1",
        "id_key": "fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe",
        "ldm": {
          "fpr_target": 0.0078,
          "hashes": 7,
          "capacity": 1000000
        },
        "compression": {
          "algorithm": "zstd",
          "level": 3
        },
        "checksum": "4e93260cf670a2c19720abd0258363e15cf7cb4aadfc54c896a39ec3ff40ddae"
      }
      "
    `);
  });

  test('a changed byte is reported, or changes nothing', () => {
    const bytes = encodeConfig(SAMPLE);
    for (let offset = 0; offset < bytes.length; offset++) {
      for (const mask of [0x01, 0x10, 0x20, 0xff]) {
        const damaged = Buffer.from(bytes);
        damaged[offset]! ^= mask;
        if (!isReported(() => decodeConfig(damaged))) expect(decodeConfig(damaged)).toEqual(SAMPLE);
      }
    }
  });

  test('every truncation is reported', () => {
    const bytes = encodeConfig(SAMPLE);
    for (let length = 0; length < bytes.length - 1; length++) {
      expect(isReported(() => decodeConfig(bytes.subarray(0, length)))).toBe(true);
    }
  });

  testProperty('any bytes at all are read or reported', (check) => {
    expectNoSurprise(check, encodeConfig(SAMPLE), decodeConfig);
    check(fc.property(fc.json(), (json) => void isReported(() => decodeConfig(Buffer.from(json)))));
  });

  test('a newer version and an unknown feature are named; a damaged version is damage', () => {
    expect(() => decodeConfig(forge({ format_version: 2 }))).toThrow(
      new UnsupportedFormatError('config: repository version 2 is not supported'),
    );
    expect(() => decodeConfig(forge({ required_features: ['another-feature'] }))).toThrow(UnsupportedFormatError);
    const damaged = encodeConfig(SAMPLE).toString().replace('"format_version": 1', '"format_version": 2');
    expect(() => decodeConfig(Buffer.from(damaged))).toThrow(new CorruptDataError('config: wrong checksum'));
  });

  test('members of a newer program are ignored', () => {
    expect(decodeConfig(forge({ comment: 'x' }))).toEqual(SAMPLE);
  });

  test.each<[string, Json]>([
    ['a chunk size of 0', { chunker: { kind: 'fixed', size_bytes: 0 } }],
    ['a chunk size above the limit', { chunker: { kind: 'fixed', size_bytes: 1024 * MIB + 1 } }],
    [
      'an average above the maximum',
      { chunker: { kind: 'fastcdc', min_size_bytes: 1, average_size_bytes: 9, max_size_bytes: 8 } },
    ],
    [
      'a minimum above the average',
      { chunker: { kind: 'fastcdc', min_size_bytes: 7, average_size_bytes: 6, max_size_bytes: 8 } },
    ],
    ['an unknown chunker', { chunker: { kind: 'rabin' } }],
    ['an unknown hash', { chunk_hash: 'md5' }],
    ['a short key', { id_key: 'fe' }],
    ['no key', { id_key: null }],
    ['a rate of 0', { ldm: { fpr_target: 0, hashes: 7, capacity: 1 } }],
    ['a rate of 1', { ldm: { fpr_target: 1, hashes: 7, capacity: 1 } }],
    ['no hash function', { ldm: { fpr_target: 0.1, hashes: 0, capacity: 1 } }],
    ['no capacity', { ldm: { fpr_target: 0.1, hashes: 7, capacity: 0 } }],
    ['a level that zstd has not', { compression: { algorithm: 'zstd', level: 23 } }],
    ['an unknown compressor', { compression: { algorithm: 'lzma', level: 1 } }],
  ])('%s is reported', (_, members) => {
    expect(() => decodeConfig(forge(members))).toThrow(CorruptDataError);
  });
});

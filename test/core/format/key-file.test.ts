import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import { KEY_ROLES, associatedDataOf, decodeKeyFile, encodeKeyFile } from '../../../src/core/format/key-file.ts';
import type { KeyHeader } from '../../../src/core/format/key-file.ts';
import { expectNoSurprise, expectWholeOnly, isReported } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const SEALED = Buffer.from(Array.from({ length: 60 }, (_, index) => index));

const SAMPLE: KeyHeader = {
  formatVersion: 1,
  repositoryId: '01'.repeat(32),
  keyEpoch: 1,
  role: 'full',
  created: '2026-01-02T03:04:05.678Z',
  host: 'host',
  user: 'ada',
  label: 'safe in the cellar',
  kdf: { memoryKib: 65_536, passes: 3, lanes: 4 },
  salt: 'fe'.repeat(32),
};

type Json = Record<string, unknown>;

const membersOf = (file: Buffer): Json => JSON.parse(file.toString()) as Json;

/** The sample with other members, and a checksum that agrees. */
function forge(members: Json): Buffer {
  const { checksum: _, ...sample } = membersOf(encodeKeyFile(SAMPLE, SEALED));
  const body = { ...sample, ...members };
  const checksum = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  return Buffer.from(`${JSON.stringify({ ...body, checksum })}\n`);
}

const kdf = (memory_kib: number, passes: number, lanes: number): Json => {
  return { kdf: { algorithm: 'argon2id', memory_kib, passes, lanes } };
};

const headers = fc.record(
  {
    formatVersion: fc.constant(1 as const),
    repositoryId: fc.stringMatching(/^[0-9a-f]{64}$/),
    keyEpoch: fc.integer({ min: 1, max: 0xffff }),
    role: fc.constantFrom(...KEY_ROLES),
    created: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })
      .map((date) => date.toISOString()),
    host: fc.string({ unit: 'binary', maxLength: 100 }),
    user: fc.string({ unit: 'binary', maxLength: 100 }),
    label: fc.string({ unit: 'binary', maxLength: 100 }),
    kdf: fc.record(
      {
        memoryKib: fc.integer({ min: 65_536, max: 131_072 }),
        passes: fc.integer({ min: 1, max: 64 }),
        lanes: fc.integer({ min: 1, max: 16 }),
      },
      { noNullPrototype: true },
    ),
    salt: fc.stringMatching(/^[0-9a-f]{64}$/),
  },
  {
    noNullPrototype: true,
    requiredKeys: ['formatVersion', 'repositoryId', 'keyEpoch', 'role', 'created', 'host', 'user', 'kdf', 'salt'],
  },
);

describe('a key file', () => {
  testProperty('reads back as it was written', (check) => {
    check(
      fc.property(headers, fc.uint8Array({ minLength: 60, maxLength: 60 }), (header, sealed) => {
        const associatedData = associatedDataOf(header);
        expect(decodeKeyFile(encodeKeyFile(header, sealed))).toEqual({
          header,
          associatedData,
          sealed: Buffer.from(sealed),
        });
      }),
    );
  });

  test('authenticates every member before the sealed key, in its order, also those of a newer program', () => {
    const { checksum: _, sealed: __, ...before } = membersOf(encodeKeyFile(SAMPLE, SEALED));
    expect(associatedDataOf(SAMPLE).toString()).toBe(JSON.stringify(before));
    const newer = { ...before, colour: 'red', sealed: SEALED.toString('hex'), after: 1, toString: 2 };
    const checksum = createHash('sha256').update(JSON.stringify(newer)).digest('hex');
    const { associatedData, header } = decodeKeyFile(Buffer.from(`${JSON.stringify({ ...newer, checksum })}\n`));
    expect(associatedData.toString()).toBe(JSON.stringify({ ...before, colour: 'red' }));
    expect(header).toEqual(SAMPLE);
  });

  test('reports every changed bit', () => {
    const bytes = encodeKeyFile(SAMPLE, SEALED);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(
        isReported(() => decodeKeyFile(damaged)),
        `bit ${bit}`,
      ).toBe(true);
    }
  });

  testProperty('is whole or reported, and any bytes at all are read or reported', (check) => {
    const bytes = encodeKeyFile(SAMPLE, SEALED);
    expectWholeOnly(bytes, decodeKeyFile);
    expectNoSurprise(check, bytes, decodeKeyFile);
    check(fc.property(fc.json(), (json) => void isReported(() => decodeKeyFile(Buffer.from(json)))));
  });

  test('of a newer version is no damage', () => {
    expect(() => decodeKeyFile(forge({ format_version: 2 }), 'keys/x')).toThrow(
      new UnsupportedFormatError('keys/x: key file version 2 is not supported'),
    );
  });

  test('longer than the limit is refused', () => {
    expect(() => decodeKeyFile(forge({ comment: 'x'.repeat(64 * 1024) }))).toThrow(/more than the limit of 65536/);
  });

  test.each<[string, Json]>([
    ['100 GB of memory', kdf(100 * 1024 * 1024, 1, 1)],
    ['more than 1 GiB of memory', kdf(1024 * 1024 + 1, 1, 1)],
    ['next to no memory', kdf(8 * 1024 - 1, 64, 1)],
    ['next to no work', kdf(8 * 1024, 7, 1)],
    ['hours of work', kdf(1024 * 1024, 9, 1)],
    ['too many passes', kdf(8 * 1024, 65, 1)],
    ['no passes', kdf(65_536, 0, 1)],
    ['no lanes', kdf(65_536, 3, 0)],
    ['too many lanes', kdf(65_536, 3, 17)],
    ['half a pass', kdf(65_536, 2.5, 1)],
    ['another algorithm', { kdf: { algorithm: 'argon2d', memory_kib: 65_536, passes: 3, lanes: 4 } }],
    ['an unknown role', { role: 'admin' }],
    ['epoch 0', { key_epoch: 0 }],
    ['a short salt', { salt: 'fe' }],
    ['a short sealed key', { sealed: 'fe' }],
    ['a time that is none', { created: 'yesterday' }],
    ['a long label', { label: 'x'.repeat(256) }],
    ['a label that is no text', { label: 1 }],
    ['no user', { user: null }],
  ])('with %s is refused', (_, members) => {
    expect(() => decodeKeyFile(forge(members))).toThrow(CorruptDataError);
  });

  test.each<[string, Json]>([
    ['the least memory', kdf(8 * 1024, 8, 1)],
    ['the most memory', kdf(1024 * 1024, 8, 16)],
    ['the most passes', kdf(128 * 1024, 64, 1)],
  ])('with %s is accepted', (_, members) => {
    expect(decodeKeyFile(forge(members)).header.role).toBe('full');
  });
});

import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError, WrongPasswordError } from '../../../src/core/errors.ts';
import { decodeRealmKey, encodeRealmKey, encodeSealedRealmKey } from '../../../src/realm/formats/realm-key.ts';
import type { RealmKeyFile, RealmSeal } from '../../../src/realm/formats/realm-key.ts';
import type { RealmHeader, RealmSecrets } from '../../../src/realm/formats/realm-key.ts';
import { decodeRealmMembership, encodeRealmMembership } from '../../../src/realm/formats/realm-membership.ts';
import { openRealmKey, sealRealmKey } from '../../../src/realm/coordination/realm-key-seal.ts';
import { expectNoSurprise, expectWholeOnly, findSilentBytes, isReported } from '../../core/format/damage.ts';
import { testProperty } from '../../support/property.ts';

type Json = Record<string, unknown>;
type Sealed = Extract<RealmKeyFile, { readonly secrets: undefined }>;

const HEADER: RealmHeader = {
  realmId: '01'.repeat(32),
  created: '2026-01-02T03:04:05.678Z',
  name: 'work',
  isEncrypted: true,
  chunker: { kind: 'fastcdc', minSizeBytes: 512, averageSizeBytes: 2048, maxSizeBytes: 8192 },
  chunkHash: 'sha1',
};
const SECRETS: RealmSecrets = { idKey: 'ab'.repeat(32), chunkerKey: 'cd'.repeat(32) };
const SEAL: RealmSeal = { kdf: { memoryKib: 65_536, passes: 3, lanes: 4 }, salt: 'fe'.repeat(32) };
const PASSWORD = Buffer.from('correct horse');

/** A file with other members, and a checksum that agrees. */
function forge(file: Buffer, members: Json): Buffer {
  const { checksum: _, ...own } = JSON.parse(file.toString()) as Json;
  const body = { ...own, ...members };
  const checksum = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  return Buffer.from(`${JSON.stringify({ ...body, checksum })}\n`);
}

const key = fc.stringMatching(/^[0-9a-f]{64}$/);
const headers = fc.record(
  {
    realmId: key,
    created: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })
      .map((date) => date.toISOString()),
    name: fc.option(fc.string({ unit: 'binary', maxLength: 100 }), { nil: undefined }),
    isEncrypted: fc.boolean(),
    chunker: fc.constantFrom(HEADER.chunker, { kind: 'fixed' as const, sizeBytes: 4096 }),
    chunkHash: fc.constantFrom('sha1' as const, 'sha256' as const),
  },
  { noNullPrototype: true },
);

describe('a realm key file', () => {
  testProperty('reads back as it was written', (check) => {
    check(
      fc.property(headers, key, key, (header, idKey, chunkerKey) => {
        const secrets = { idKey, chunkerKey: header.isEncrypted ? chunkerKey : undefined };
        expect(decodeRealmKey(encodeRealmKey(header, secrets))).toEqual({ header, secrets });
      }),
    );
  });

  testProperty('that is sealed has no key as text, and reads back as it was written', (check) => {
    check(
      fc.property(headers, fc.uint8Array({ minLength: 92, maxLength: 92 }), (header, bytes) => {
        const sealed = Buffer.from(bytes.subarray(0, header.isEncrypted ? 92 : 60));
        const file = encodeSealedRealmKey(header, SEAL, sealed);
        expect(Object.keys(JSON.parse(file.toString()) as Json)).not.toContain('id_key');
        expect(decodeRealmKey(file)).toMatchObject({ header, seal: SEAL, sealed, secrets: undefined });
      }),
    );
  });

  testProperty('reports each damage, and all that is missing', (check) => {
    for (const file of [encodeRealmKey(HEADER, SECRETS), encodeSealedRealmKey(HEADER, SEAL, Buffer.alloc(92))]) {
      expectWholeOnly(file, decodeRealmKey);
      expectNoSurprise(check, file, decodeRealmKey);
      const silent = findSilentBytes(file, decodeRealmKey);
      // A change of white space changes nothing.
      expect(silent.filter((offset) => !/\s/.test(String.fromCharCode(file[offset]!)))).toEqual([]);
    }
  });

  test.each<[string, Json]>([
    ['no key', { id_key: undefined }],
    ['a key that is too short', { id_key: 'ab' }],
    ['no key of the chunker', { chunker_key: undefined }],
    ['an unknown chunker', { chunker: { kind: 'other' } }],
    ['an unknown hash', { chunk_hash: 'md5' }],
    ['a realm id that is none', { realm_id: 'work' }],
    ['a name that is too long', { name: 'n'.repeat(256) }],
    ['no word about encryption', { is_encrypted: undefined }],
  ])('with %s is damaged', (_, members) => {
    expect(() => decodeRealmKey(forge(encodeRealmKey(HEADER, SECRETS), members), 'work.realm')).toThrow(
      CorruptDataError,
    );
    expect(() => decodeRealmKey(forge(encodeRealmKey(HEADER, SECRETS), members), 'work.realm')).toThrow('work.realm: ');
  });

  test.each([
    ['memory', { algorithm: 'argon2id', memory_kib: 2 ** 30, passes: 1, lanes: 1 }],
    ['no effort', { algorithm: 'argon2id', memory_kib: 8192, passes: 1, lanes: 1 }],
  ])('that would cost %s to open is refused', (_, kdf) => {
    const file = encodeSealedRealmKey(HEADER, SEAL, Buffer.alloc(92));
    expect(isReported(() => decodeRealmKey(forge(file, { kdf })))).toBe(true);
  });

  test('of a later version is not called damaged', () => {
    const later = forge(encodeRealmKey(HEADER, SECRETS), { format_version: 2 });
    expect(() => decodeRealmKey(later)).toThrow(UnsupportedFormatError);
  });
});

describe('a sealed realm key file', () => {
  test.each([true, false])('opens with its password only (encrypted: %s)', async (isEncrypted) => {
    const secrets = { ...SECRETS, chunkerKey: isEncrypted ? SECRETS.chunkerKey : undefined };
    const file = decodeRealmKey(await sealRealmKey({ ...HEADER, isEncrypted }, secrets, PASSWORD)) as Sealed;
    expect(await openRealmKey(file, PASSWORD)).toEqual(secrets);
    await expect(openRealmKey(file, Buffer.from('wrong'))).rejects.toThrow(WrongPasswordError);
  });

  test('does not open if anything before the keys was changed', async () => {
    const bytes = await sealRealmKey(HEADER, SECRETS, PASSWORD);
    const changes: Json[] = [{ realm_id: '02'.repeat(32) }, { chunk_hash: 'sha256' }, { name: 'play' }];
    for (const change of changes) {
      const changed = decodeRealmKey(forge(bytes, change)) as Sealed;
      await expect(openRealmKey(changed, PASSWORD)).rejects.toThrow(WrongPasswordError);
    }
    expect(await openRealmKey(decodeRealmKey(forge(bytes, {})) as Sealed, PASSWORD)).toEqual(SECRETS);
  });
});

describe('the membership in a realm', () => {
  const ids = { repositoryId: '01'.repeat(32), realmId: '02'.repeat(32) };
  const what = 'realm';
  const sample = encodeRealmMembership({
    ...ids,
    name: 'a',
    coordinator: '/mnt/realm',
    cache: 'redis://127.0.0.1:6379',
  });

  testProperty('reads back as it was written', (check) => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 100 });
    const places = text.filter((place) => !place.includes('\0'));
    const caches = fc.option(places, { nil: undefined });
    check(
      fc.property(text, places, caches, (name, coordinator, cache) => {
        const membership = { ...ids, name, coordinator, cache };
        expect(decodeRealmMembership(encodeRealmMembership(membership), { ...ids, what })).toEqual(
          cache === undefined ? { ...ids, name, coordinator } : membership,
        );
      }),
    );
  });

  test('of another repository or realm is refused', () => {
    const other = '03'.repeat(32);
    expect(() => decodeRealmMembership(sample, { ...ids, repositoryId: other, what })).toThrow('another repository');
    expect(() => decodeRealmMembership(sample, { ...ids, realmId: other, what })).toThrow('another realm');
  });

  testProperty('reports each damage', (check) => {
    const read = (bytes: Buffer): unknown => decodeRealmMembership(bytes, { ...ids, what });
    expectWholeOnly(sample, read);
    expectNoSurprise(check, sample, read);
  });
});

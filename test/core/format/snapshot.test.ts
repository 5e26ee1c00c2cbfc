import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../src/core/format/snapshot.ts';
import type { Snapshot } from '../../../src/core/format/snapshot.ts';
import { byteStringFromBytes, byteStringFromText as text, joinPath } from '../../../src/core/util/byte-string.ts';
import { arbName } from './arbitraries.ts';
import { expectNoSurprise, isReported } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const SAMPLE: Snapshot = {
  formatVersion: 1,
  nonce: '00112233445566778899aabbccddeeff',
  tree: '0123456789abcdef0123456789abcdef01234567',
  base: text('/home/ada'),
  paths: [text('/home/ada/docs'), text('/home/ada/work')],
  time: '2026-01-02T03:04:05.678Z',
  hostname: 'tower',
  username: 'ada',
  uid: 1000,
  gid: 1000,
  tags: ['nightly'],
  parent: 'ab'.repeat(32),
  programVersion: '0.1.0',
  summary: {
    filesNew: 1,
    filesChanged: 2,
    filesUnmodified: 3,
    dirsNew: 4,
    dirsChanged: 5,
    dirsUnmodified: 6,
    dataBlobs: 7,
    treeBlobs: 8,
    dataAdded: 9,
    dataAddedPacked: 10,
    totalFilesProcessed: 11,
    totalBytesProcessed: 12,
    backupStart: '2026-01-02T03:04:05Z',
    backupEnd: '2026-01-02T03:04:06.123456789Z',
    errorCount: 13,
  },
};

type Json = Record<string, unknown>;

const jsonOf = (snapshot: Snapshot): Json => JSON.parse(encodeSnapshot(snapshot).toString()) as Json;
const bytesOfJson = (json: Json): Buffer => Buffer.from(JSON.stringify(json));

describe('snapshot', () => {
  test('reads back as it was written', () => {
    expect(decodeSnapshot(encodeSnapshot(SAMPLE))).toEqual(SAMPLE);
    const { parent: _, ...first } = SAMPLE;
    expect(decodeSnapshot(encodeSnapshot(first))).toEqual(first);
  });

  test('keeps its bytes', () => {
    expect(encodeSnapshot(SAMPLE).toString()).toMatchInlineSnapshot(`
      "{"format_version":1,"nonce":"00112233445566778899aabbccddeeff","time":"2026-01-02T03:04:05.678Z","tree":"0123456789abcdef0123456789abcdef01234567","base":"/home/ada","paths":["/home/ada/docs","/home/ada/work"],"hostname":"tower","username":"ada","uid":1000,"gid":1000,"tags":["nightly"],"parent":"abababababababababababababababababababababababababababababababab","program_version":"0.1.0","summary":{"files_new":1,"files_changed":2,"files_unmodified":3,"dirs_new":4,"dirs_changed":5,"dirs_unmodified":6,"data_blobs":7,"tree_blobs":8,"data_added":9,"data_added_packed":10,"total_files_processed":11,"total_bytes_processed":12,"backup_start":"2026-01-02T03:04:05Z","backup_end":"2026-01-02T03:04:06.123456789Z","error_count":13}}
      "
    `);
  });

  testProperty('paths of any bytes read back', (check) => {
    check(
      fc.property(
        arbName,
        fc.uniqueArray(arbName, { minLength: 1, maxLength: 4 }),
        fc.string(),
        (parent, names, host) => {
          const base = joinPath(text('/'), parent);
          const paths = names.map((name) => joinPath(base, name)).sort();
          const snapshot = { ...SAMPLE, base, paths, hostname: host, tags: [host] };
          expect(decodeSnapshot(encodeSnapshot(snapshot))).toEqual(snapshot);
        },
      ),
    );
  });

  test('paths that are not text stand there twice', () => {
    const broken = byteStringFromBytes(Uint8Array.of(0x2f, 0xff));
    const json = jsonOf({ ...SAMPLE, base: text('/'), paths: [text('/a'), broken] });
    expect(json).toMatchObject({ paths: ['/a', '/\ufffd'], paths_b64: ['L2E=', 'L/8='] });
    expect(json).not.toHaveProperty('base_b64');
    expect(() => decodeSnapshot(bytesOfJson({ ...json, paths: ['/a', '/b'] }))).toThrow('"paths_b64" contradicts');
    expect(() => decodeSnapshot(bytesOfJson({ ...json, paths_b64: ['L2E', 'L/8='] }))).toThrow('"paths_b64" is "L2E"');
    const ofBase = jsonOf({ ...SAMPLE, base: broken, paths: [broken] });
    expect(ofBase).toMatchObject({ base: '/\ufffd', base_b64: 'L/8=' });
    expect(() => decodeSnapshot(bytesOfJson({ ...ofBase, base: '/b' }))).toThrow('"base_b64" contradicts');
  });

  test('members of a newer program are kept as they are, and not looked at', () => {
    const others = { reviewers: ['*.o', { nested: [1, null, true] }] };
    const summary = { ...jsonOf(SAMPLE)['summary']!, files_moved: -0.5 };
    const json = JSON.stringify({ ...jsonOf(SAMPLE), summary, ...others, ['__proto__x']: 1 }).replace('__x"', '__"');
    const decoded = decodeSnapshot(Buffer.from(json));
    const { others: kept, ...known } = decoded;
    expect(Object.keys(kept!)).toEqual(['reviewers', '__proto__']);
    expect(known).toEqual({ ...SAMPLE, summary: { ...SAMPLE.summary, others: { files_moved: -0.5 } } });
    expect(JSON.parse(encodeSnapshot(decoded).toString())).toEqual(JSON.parse(json));
  });

  test('a copy names the original', () => {
    const copy = { ...SAMPLE, original: 'cd'.repeat(32) };
    expect(decodeSnapshot(encodeSnapshot(copy))).toEqual(copy);
    expect(() => encodeSnapshot({ ...SAMPLE, original: 'cd' })).toThrow(CorruptDataError);
  });

  test('another version is not guessed at', () => {
    expect(() => decodeSnapshot(bytesOfJson({ ...jsonOf(SAMPLE), format_version: 2 }))).toThrow(UnsupportedFormatError);
  });

  test('every member is needed, and of its type', () => {
    const json = jsonOf(SAMPLE);
    const summary = json['summary'] as Json;
    for (const name of Object.keys(json).filter((key) => key !== 'parent')) {
      const { [name]: _, ...rest } = json;
      expect(() => decodeSnapshot(bytesOfJson(rest)), name).toThrow(`"${name}" is missing`);
    }
    for (const name of Object.keys(json)) {
      expect(() => decodeSnapshot(bytesOfJson({ ...json, [name]: null })), name).toThrow(CorruptDataError);
    }
    for (const name of Object.keys(summary)) {
      const damaged = bytesOfJson({ ...json, summary: { ...summary, [name]: -1 } });
      expect(() => decodeSnapshot(damaged), name).toThrow(`snapshot: summary: "${name}"`);
    }
  });

  test.each<[string, Partial<Snapshot>]>([
    ['no paths', { paths: [] }],
    ['a relative path', { base: text('/'), paths: [text('a')] }],
    ['a path with ..', { base: text('/'), paths: [text('/a/../b')] }],
    ['a path that ends with a slash', { base: text('/'), paths: [text('/a/')] }],
    ['a path outside the base', { base: text('/a'), paths: [text('/ab')] }],
    ['paths out of order', { base: text('/'), paths: [text('/b'), text('/a')] }],
    ['a path twice', { base: text('/'), paths: [text('/a'), text('/a')] }],
    ['a time without a zone', { time: '2026-01-02T03:04:05' }],
    ['a day that is none', { time: '2026-13-02T03:04:05Z' }],
    ['a tree id that is too short', { tree: '0123' }],
    ['an upper-case parent', { parent: 'AB'.repeat(32) }],
    ['half a user', { uid: 0.5 }],
  ])('%s is never written', (_, fields) => {
    expect(() => encodeSnapshot({ ...SAMPLE, ...fields })).toThrow(CorruptDataError);
  });

  test.each([['/'], ['/a'], ['/a/b']])('the base %s may be the only path', (base) => {
    const snapshot = { ...SAMPLE, base: text(base), paths: [text(base)] };
    expect(decodeSnapshot(encodeSnapshot(snapshot))).toEqual(snapshot);
  });

  test('every truncation is reported', () => {
    const bytes = encodeSnapshot(SAMPLE);
    for (let length = 0; length < bytes.length - 1; length++) {
      expect(isReported(() => decodeSnapshot(bytes.subarray(0, length)))).toBe(true);
    }
  });

  testProperty('any bytes at all are read or reported', (check) => {
    expectNoSurprise(check, encodeSnapshot(SAMPLE), decodeSnapshot);
    check(fc.property(fc.json(), (json) => void isReported(() => decodeSnapshot(Buffer.from(json)))));
    const deep = Buffer.from('['.repeat(1_000_000));
    expect(isReported(() => decodeSnapshot(deep))).toBe(true);
    expect(isReported(() => decodeSnapshot(Buffer.from('{"__proto__":{"format_version":1}}')))).toBe(true);
  });
});

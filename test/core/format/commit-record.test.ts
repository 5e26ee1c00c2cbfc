import { expect, test } from 'vitest';

import { sha256 } from '../../../src/core/crypto/sha256.ts';
import { decodeCommitRecord, encodeCommitRecord } from '../../../src/core/format/commit-record.ts';
import { commitName, isCommitName, parseCommitName } from '../../../src/core/format/layout.ts';
import { bytesOfDump, exampleOf } from './format-document.ts';

const RECORD = { number: 17, isWhole: true, snapshotIds: ['ab'.repeat(32), 'cd'.repeat(32)] };

test('the example of the document is a commit record and its digest', () => {
  const file = bytesOfDump('hex commit');
  const content = file.subarray(0, -32);
  const snapshotIds = [sha256(Buffer.from(exampleOf('json snapshot')))];
  expect(decodeCommitRecord(content)).toEqual({ number: 1, isWhole: false, snapshotIds });
  expect(encodeCommitRecord({ number: 1, isWhole: false, snapshotIds })).toEqual(content);
  expect(file.subarray(-32).toString('hex')).toBe(sha256(content));
});

test.each([RECORD, { number: 1, isWhole: false, snapshotIds: [] }])('%o is read as it was written', (record) => {
  expect(decodeCommitRecord(encodeCommitRecord(record))).toEqual(record);
});

test('a record that is cut, too long, or of another kind or version is refused', () => {
  const bytes = encodeCommitRecord(RECORD);
  for (let length = 0; length < bytes.length; length += 1)
    expect(() => decodeCommitRecord(bytes.subarray(0, length))).toThrow(
      expect.objectContaining({ code: 'CORRUPT_DATA' }),
    );
  const changed = (offset: number, value: number): Buffer => Buffer.from(bytes).fill(value, offset, offset + 1);
  expect(() => decodeCommitRecord(Buffer.concat([bytes, bytes.subarray(0, 1)]))).toThrow(/bytes long instead of/);
  expect(() => decodeCommitRecord(changed(12, 2))).toThrow(/kind/);
  expect(() => decodeCommitRecord(changed(28, 1))).toThrow();
  expect(() => decodeCommitRecord(changed(8, 2))).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_FORMAT' }));
});

test('only names with twelve digits are those of commit records', () => {
  expect(parseCommitName(commitName(123))).toBe(123);
  expect(parseCommitName(commitName(10 ** 12 - 1))).toBe(10 ** 12 - 1);
  for (const name of ['index/commit-1', 'index/commit-000000000000', `${commitName(1)} (1)`, 'commit-000000000001'])
    expect(isCommitName(name), name).toBe(false);
});

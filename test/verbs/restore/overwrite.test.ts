import { lstatSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { decide } from '../../../src/verbs/restore/overwrite.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { sampleEntry } from '../../core/files/sample-entry.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

const NULL = byteStringFromText('/dev/null');

test.each([
  ['character-device', 1, 3, 'unchanged'],
  ['character-device', 1, 5, 'refuse'],
  ['character-device', 2, 3, 'refuse'],
  ['block-device', 1, 3, 'refuse'],
  ['fifo', 0, 0, 'refuse'],
] as const)('in place of /dev/null, a %s %i:%i is to be %s', (type, deviceMajor, deviceMinor, decision) => {
  expect(decide(NULL, sampleEntry({ type, deviceMajor, deviceMinor }), 'never')).toBe(decision);
});

test.each([
  [0, { never: 'unchanged', 'if-changed': 'unchanged', 'if-newer': 'unchanged', always: 'replace' }],
  [1, { never: 'refuse', 'if-changed': 'replace', 'if-newer': 'replace', always: 'replace' }],
  [-1, { never: 'refuse', 'if-changed': 'replace', 'if-newer': 'keep', always: 'replace' }],
] as const)('a file whose time differs by %i nanoseconds', (difference, expected) => {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, 'same size');
  // Half a second: no difference reaches another second. A file system without fractions would make it 0.
  utimesSync(path, 1_600_000_000.5, 1_600_000_000.5);
  const { mtimeNs } = lstatSync(path, { bigint: true });
  const mtimeNanoseconds = Number(mtimeNs % 1_000_000_000n) + difference;
  expect(mtimeNanoseconds).toBeGreaterThan(0);
  const entry = sampleEntry({ sizeBytes: 9, mtimeSeconds: 1_600_000_000, mtimeNanoseconds });
  for (const mode of ['never', 'if-changed', 'if-newer', 'always'] as const)
    expect(decide(byteStringFromText(path), entry, mode), mode).toBe(expected[mode]);
});

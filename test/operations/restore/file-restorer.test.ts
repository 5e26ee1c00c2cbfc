import { expect, test } from 'vitest';

import { decide } from '../../../src/operations/restore/file-restorer.ts';
import { byteStringFromText } from '../../../src/util/byte-string.ts';
import { sampleEntry } from '../../files/sample-entry.ts';

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

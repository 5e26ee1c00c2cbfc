import { expect, it } from 'vitest';

import { behindWord, planeWord } from '../../../../src/realm/verbs/realm/status-report.ts';

const PUBLISHED = { generation: 1, sequence: 4, positions: 64, hashes: 3, liveCount: 1, checksum: 'ab'.repeat(32) };
const EARLIER = { ...PUBLISHED, sequence: 2 };
const OTHER = { isSelf: false, held: EARLIER, behind: 2, published: PUBLISHED };

it.each([
  ['current', { held: PUBLISHED, behind: 0 }],
  ['2 behind', {}],
  ['1,234 behind', { behind: 1234 }],
  ['none', { held: undefined, behind: undefined }],
  ['another', { held: { ...PUBLISHED, sequence: 9 }, behind: undefined }],
  ['unknown', { behind: undefined, published: undefined }],
  ['', { isSelf: true, held: undefined, behind: undefined }],
])('the status says "%s" of the plane that the agent has', (word, parts) => {
  expect(behindWord({ ...OTHER, ...parts }, true)).toBe(word);
  expect(behindWord({ ...OTHER, ...parts }, false)).toBe('');
});

const KNOWN = { isSelf: false, isCurrent: true, isUnderWay: false, published: PUBLISHED, unpublished: undefined };

it.each([
  ['current', {}],
  ['stale', { isCurrent: false }],
  ['2 changes not published', { isSelf: true, isCurrent: false, unpublished: 2 }],
  ['none', { isCurrent: false, published: undefined }],
  ['being published', { isCurrent: false, published: undefined, isUnderWay: true }],
  ['current, next being published', { isUnderWay: true }],
  ['stale, next being published', { isCurrent: false, isUnderWay: true }],
])('the status says "%s" of the plane of a domain', (words, parts) => {
  expect(planeWord({ ...KNOWN, ...parts })).toBe(words);
});

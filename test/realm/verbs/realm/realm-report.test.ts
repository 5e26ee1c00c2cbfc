import { expect, it } from 'vitest';

import { behindWord } from '../../../../src/realm/verbs/realm/report.ts';

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

import { describe, expect, it } from 'vitest';

import { formatEntryTime, formatNanosecondTime, formatPermissions } from '../../../src/console/reports/ls-report.ts';

describe('formatPermissions', () => {
  it.each([
    ['directory', 0o755, 'drwxr-xr-x'],
    ['file', 0o640, '-rw-r-----'],
    ['file', 0o4755, '-rwsr-xr-x'],
    ['file', 0o2644, '-rw-r-Sr--'],
    ['directory', 0o1777, 'drwxrwxrwt'],
    ['directory', 0o1770, 'drwxrwx--T'],
    ['symlink', 0o777, 'lrwxrwxrwx'],
    ['fifo', 0, 'p---------'],
  ] as const)('of a %s with mode %o', (type, mode, text) => {
    expect(formatPermissions({ type, mode })).toBe(text);
  });
});

describe('formatNanosecondTime', () => {
  it.each([
    [0, 0, '1970-01-01T00:00:00.000000000Z'],
    [1_700_000_000, 123_456_789, '2023-11-14T22:13:20.123456789Z'],
    [-1, 999_999_999, '1969-12-31T23:59:59.999999999Z'],
    [1e15, 5, '1000000000000000.000000005'],
  ])('of %d s and %d ns', (seconds, nanoseconds, text) => {
    expect(formatNanosecondTime(seconds, nanoseconds)).toBe(text);
  });
});

it('formatEntryTime prints seconds beyond the range of dates', () => {
  expect(formatEntryTime({ mtimeSeconds: 9e12 })).toBe('@9000000000000');
  expect(formatEntryTime({ mtimeSeconds: -9e12 })).toBe('@-9000000000000');
  expect(formatEntryTime({ mtimeSeconds: 1e9 })).toMatch(/^2001-09-0\d \d\d:\d\d:40$/);
});

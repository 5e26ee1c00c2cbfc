import { expect, it } from 'vitest';

import { decodePaxRecords, encodePaxRecords } from '../../../../src/core/format/tar/pax-records.ts';
import type { PaxRecord } from '../../../../src/core/format/tar/pax-records.ts';
import { bs } from '../../../support/tar-archive.ts';

it('a record says its own length, also where that gains a digit', () => {
  const records = Array.from({ length: 1100 }, (_, length): PaxRecord => ['path', bs('x'.repeat(length))]);
  for (const record of records) {
    const bytes = encodePaxRecords([record]);
    expect(Number(bytes.toString('latin1').split(' ', 1)[0])).toBe(bytes.length);
  }
  expect(decodePaxRecords(encodePaxRecords(records))).toEqual({ records, isDamaged: false });
});

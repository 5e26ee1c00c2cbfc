import { array, assert, boolean, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';

import { dataRuns, dataRunsBetween } from '../../../../src/core/files/source/data-runs.ts';

const BLOCK = 4096;

function runsOf(bytes: Uint8Array, position: number): [number, number][] {
  return [...dataRuns(bytes, position)].map(({ start, end }) => [start, end]);
}

test('what is in no run is zeros, and no run holds a whole block of zeros', () => {
  const piece = record({ lengthBytes: integer({ min: 0, max: 3 * BLOCK }), isZero: boolean() });
  assert(
    property(array(piece, { maxLength: 8 }), integer({ min: 0, max: 3 * BLOCK }), (pieces, position) => {
      const bytes = Buffer.concat(pieces.map(({ lengthBytes, isZero }) => Buffer.alloc(lengthBytes, isZero ? 0 : 1)));
      const again = Buffer.alloc(bytes.length);
      let last = -1;
      for (const [start, end] of runsOf(bytes, position)) {
        expect(start).toBeGreaterThan(last);
        expect(end).toBeGreaterThan(start);
        bytes.copy(again, start, start, end);
        last = end;
        for (let at = BLOCK - ((position + start) % BLOCK) + start; at + BLOCK <= end; at += BLOCK) {
          expect(bytes.subarray(at, at + BLOCK).some((byte) => byte !== 0)).toBe(true);
        }
      }
      expect(again.equals(bytes)).toBe(true);
    }),
  );
});

test.each([
  ['nothing', Buffer.alloc(0), 0, []],
  ['only zeros', Buffer.alloc(3 * BLOCK + 5), 0, []],
  ['no zeros', Buffer.alloc(3 * BLOCK + 5, 1), 7, [[0, 3 * BLOCK + 5]]],
  ['zeros that fill no block', Buffer.from([1, ...new Uint8Array(BLOCK - 2), 1]), 0, [[0, BLOCK]]],
  ['a block of zeros between others', Buffer.concat([Buffer.alloc(BLOCK, 1), Buffer.alloc(BLOCK), Buffer.from([1])]), 0, [[0, BLOCK], [2 * BLOCK, 2 * BLOCK + 1]]], // prettier-ignore
  ['a byte at the end of zeros', Buffer.from([...new Uint8Array(BLOCK), 1]), BLOCK, [[BLOCK, BLOCK + 1]]],
  ['zeros up to the next block of the file', Buffer.from([...new Uint8Array(10), 1]), BLOCK - 10, [[10, 11]]],
])('%s', (_, bytes, position, runs) => {
  expect(runsOf(bytes, position)).toEqual(runs);
});

test('with a hole map, what is in no run is zeros in a hole, and holes of zeros are in no run', () => {
  const lengths = array(integer({ min: 1, max: 3000 }), { maxLength: 8 });
  assert(
    property(lengths, integer({ min: 0, max: 9000 }), boolean(), (pieces, position, isTrue) => {
      const holes: number[] = [];
      const whole = Buffer.alloc(30_000, 1);
      let offset = 0;
      for (const [index, length] of pieces.entries()) {
        if (index % 2 === 0) holes.push(offset, offset + length);
        if (index % 2 === 0 && isTrue) whole.fill(0, offset, offset + length);
        offset += length;
      }
      const bytes = whole.subarray(position, position + 12_000);
      const again = Buffer.alloc(bytes.length);
      const runs = dataRunsBetween(Float64Array.from(holes), bytes, position);
      for (const { start, end } of runs) bytes.copy(again, start, start, end);
      expect(again.equals(bytes)).toBe(true);
      const written = runs.reduce((sum, { start, end }) => sum + end - start, 0);
      expect(written).toBe(bytes.filter((byte) => byte !== 0).length);
    }),
  );
});

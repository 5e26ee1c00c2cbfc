import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { KeySplitter } from '../../../src/filters/keys/split-keys.ts';
import { testProperty } from '../../support/property.ts';

const DELIMITER = 10;
/** Few different bytes, so that there are many keys, some of them empty. */
const stream = fc.array(fc.constantFrom(0, 10, 97, 255), { maxLength: 60 }).map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.nat(60), { maxLength: 10 });

function piecesOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...at.map((end) => Math.min(end, bytes.length)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

/** What a line is to `sort`: the last one need not be ended. */
function keysByModel(bytes: Buffer): string[] {
  const keys = bytes.toString('latin1').split('\n');
  if (keys.at(-1) === '') keys.pop();
  return keys;
}

testProperty('keys are the lines of the stream, however it is cut into pieces', (check) => {
  check(
    fc.property(stream, cuts, (bytes, at) => {
      const splitter = new KeySplitter(DELIMITER);
      const keys = piecesOf(bytes, at).flatMap((piece) => [...splitter.keysIn(piece)]);
      keys.push(...splitter.end());
      expect(keys.map((key) => Buffer.from(key).toString('latin1'))).toEqual(keysByModel(bytes));
      expect(splitter.count).toBe(keys.length);
    }),
  );
});

it('refuses a key of more than 16 MiB, before it has kept much more than that', () => {
  const piece = new Uint8Array(2 ** 20).fill(97);
  const splitter = new KeySplitter(DELIMITER);
  const read = (): number => [...splitter.keysIn(piece)].length;
  for (let mebibytes = 0; mebibytes < 16; mebibytes++) expect(read()).toBe(0);
  expect(read).toThrow('key 1 has more than 16 MiB');
});

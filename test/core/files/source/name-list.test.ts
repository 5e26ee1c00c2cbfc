import { expect, it } from 'vitest';

import { packNames } from '../../../../src/core/files/source/name-list.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';

it.each([0, 3, 5000])('%i packed names are what they were', (count) => {
  const names = Array.from(
    { length: count },
    (_, index) => `\xff${String(index).padStart(index % 7, 'x')}` as ByteString,
  );
  names.sort();
  const packed = packNames(names);
  expect(packed.length).toBe(count);
  expect(Array.from({ length: count + 1 }, (_, index) => packed.at(index))).toEqual([...names, undefined]);
  for (const name of names) expect(packed.includes(name)).toBe(true);
  for (const name of ['', '\xff', '\xffzzz', 'a'] as ByteString[]) expect(packed.includes(name)).toBe(false);
});

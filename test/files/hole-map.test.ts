import { expect, test } from 'vitest';

import { holesWithin } from '../../src/files/hole-map.ts';

test.each([
  [200, [10, 20, 50, 100]],
  [100, [10, 20, 50, 100]],
  [70, [10, 20, 50, 70]],
  [50, [10, 20]],
  [20, [10, 20]],
  [15, [10, 15]],
  [10, []],
  [0, []],
])('the holes of a file that was saved up to byte %i are within these bytes', (sizeBytes, expected) => {
  expect([...holesWithin(Float64Array.of(10, 20, 50, 100), sizeBytes)]).toEqual(expected);
});

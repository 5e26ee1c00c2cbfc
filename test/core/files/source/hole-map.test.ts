import { expect, test } from 'vitest';

import { commonHoles, holesWithin } from '../../../../src/core/files/source/hole-map.ts';

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

test.each([
  [[], [], []],
  [[0, 10], [], []],
  [[0, 10], [10, 20], []],
  [
    [0, 10, 20, 30],
    [0, 10, 20, 30],
    [0, 10, 20, 30],
  ],
  [
    [0, 100],
    [5, 10, 20, 30],
    [5, 10, 20, 30],
  ],
  [
    [0, 10, 20, 30, 40, 50],
    [5, 45],
    [5, 10, 20, 30, 40, 45],
  ],
])('holes in both of %j and %j are %j', (one, other, expected) => {
  const [a, b] = [Float64Array.from(one), Float64Array.from(other)];
  expect([...commonHoles(a, b)]).toEqual(expected);
  expect([...commonHoles(b, a)]).toEqual(expected);
});

import { expect, it } from 'vitest';

import { largestOf } from '../../../src/core/format/layout.ts';

it('the largest of any number of numbers is found', () => {
  expect(largestOf([])).toBe(0);
  expect(largestOf([-3, -2], -5)).toBe(-2);
  expect(largestOf(Array.from({ length: 300_000 }, (_, index) => index))).toBe(299_999);
});

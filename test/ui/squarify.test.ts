import * as fc from 'fast-check';
import { expect } from 'vitest';

import { squarify } from '../../src/ui/page/parts/squarify.ts';
import { testProperty } from '../support/property.ts';

const WIDTH = 600;
const HEIGHT = 400;

testProperty('a treemap fills its area with boxes in proportion to their values, without overlap', (check) => {
  const values = fc.array(fc.integer({ min: 1, max: 10 ** 9 }), { minLength: 1, maxLength: 60 });
  check(
    fc.property(values, (given) => {
      const boxes = squarify(
        given.map((value) => ({ value })),
        WIDTH,
        HEIGHT,
      );
      const total = given.reduce((sum, value) => sum + value, 0);
      expect(boxes.map(({ data }) => data.value)).toEqual(given.toSorted((a, b) => b - a));
      for (const { data, x0, x1, y0, y1 } of boxes) {
        expect((x1 - x0) * (y1 - y0)).toBeCloseTo((data.value / total) * WIDTH * HEIGHT, 0);
        expect(Math.min(x0, y0)).toBeGreaterThan(-0.01);
        expect(x1).toBeLessThan(WIDTH + 0.01);
        expect(y1).toBeLessThan(HEIGHT + 0.01);
      }
      for (const [index, a] of boxes.entries()) {
        for (const b of boxes.slice(index + 1)) {
          const shared = [Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0), Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0)];
          expect(Math.min(...shared)).toBeLessThan(0.01);
        }
      }
    }),
  );
});

testProperty('the boxes of equal values are nearly squares', (check) => {
  check(
    fc.property(fc.integer({ min: 6, max: 60 }), (count) => {
      for (const { x0, x1, y0, y1 } of squarify(
        Array.from({ length: count }, () => ({ value: 5 })),
        WIDTH,
        HEIGHT,
      )) {
        const ratio = (x1 - x0) / (y1 - y0);
        expect(Math.max(ratio, 1 / ratio)).toBeLessThan(3);
      }
    }),
  );
});

import { describe, expect, it } from 'vitest';
import { bytesOver } from '../../../src/core/ldm/image-words.ts';
import { PlaneCells } from '../../../src/core/ldm/plane-cells.ts';
import { createPrng } from '../../support/prng.ts';

const SEED = 12;

describe.each([1, 2, 3, 8, 31, 32])('cells of %i slots', (slotCount) => {
  it.each([2, 31, 97, 1009])(
    `have the positions that were added to each slot, with m = %i (seed ${SEED})`,
    (positions) => {
      const random = createPrng(SEED);
      const cells = new PlaneCells(positions);
      const model = Array.from({ length: slotCount }, () => new Set<number>());
      for (let step = 0; step < 60; step++) {
        const slot = random.int(slotCount);
        const [start, stride] = [random.int(positions), 1 + random.int(positions - 1)];
        cells.widen(slot + 1);
        const before = model[slot]!.size;
        const hashes = Math.min(positions, 1 + random.int(7));
        for (let hash = 0; hash < hashes; hash++) model[slot]!.add((start + hash * stride) % positions);
        expect(cells.add(slot, start, stride, hashes)).toBe(model[slot]!.size - before);
      }
      cells.widen(slotCount);
      const copy = new PlaneCells(positions);
      copy.widen(slotCount);
      for (const [slot, taken] of model.entries()) {
        const plane = cells.read(slot);
        const read = Array.from({ length: plane.length * 32 }, (_, at) => at).filter(
          (at) => (plane[at >>> 5]! >>> at) & 1,
        );
        expect(read).toEqual([...taken].toSorted((a, b) => a - b));
        copy.write(slot, bytesOver(plane));
      }
      for (const slot of model.keys()) expect(copy.read(slot)).toEqual(cells.read(slot));
    },
  );
});

import { expect, it } from 'vitest';

import { measureChains } from '../../../../src/core/ldm/chain-statistics.ts';
import { planFilter } from '../../../../src/core/ldm/formulas.ts';
import { explainLookUp } from '../../../../src/realm/verbs/locate/explain.ts';
import { ID_BYTES, filterWith, randomIds } from '../../../core/ldm/filter-support.ts';

it('an explanation lists what the look-up compares, also on a chain that is joined with its neighbour', () => {
  const elements = 500;
  const ids = randomIds(elements, 22);
  const filter = filterWith(planFilter({ capacity: elements, hashes: 7 }), ids);
  let compared = 0;
  for (let chunk = 0; chunk < elements; chunk += 1) {
    const id = ids.subarray(chunk * ID_BYTES, (chunk + 1) * ID_BYTES);
    const { chain, link } = explainLookUp(filter, id);
    expect(chain.at(-1)).toEqual({ id: Buffer.from(id).toString('hex'), link });
    compared += chain.length;
  }
  expect(compared / elements).toBeCloseTo(measureChains(filter).walked.meanVisited, 12);
  const absent = explainLookUp(filter, randomIds(1, 23));
  expect([absent.isCertainlyAbsent, absent.chain]).toEqual([true, []]);
});

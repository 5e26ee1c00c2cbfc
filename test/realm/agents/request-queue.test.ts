import { expect, it } from 'vitest';

import { RequestQueue } from '../../../src/realm/agents/request-queue.ts';

it('a queue lets as many requests run and wait as it says, in turn, and refuses the next one at once', async () => {
  const queue = new RequestQueue({ runningMax: 2, waitingMax: 3 });
  const begun: number[] = [];
  const entered = [0, 1, 2, 3, 4].map(async (number) => {
    const mayRun = await queue.enter();
    begun.push(number);
    return mayRun;
  });
  expect(await queue.enter()).toBe(false);
  expect(begun).toEqual([0, 1]);
  for (const number of [2, 3, 4]) {
    queue.leave();
    expect(await entered[number]).toBe(true);
    expect(begun.at(-1)).toBe(number);
  }
  queue.leave();
  queue.leave();
  expect(await Promise.all(entered)).toEqual([true, true, true, true, true]);
  expect(await queue.enter()).toBe(true);
});

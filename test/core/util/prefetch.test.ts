import { setImmediate } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { prefetch } from '../../../src/core/util/prefetch.ts';

it('throws a failure when it is the turn of its item, and leaves nothing running', async () => {
  const log: string[] = [];
  const work = async (item: number): Promise<number> => {
    log.push(`begin ${item}`);
    for (let turn = 0; turn < item; turn += 1) await setImmediate();
    log.push(`end ${item}`);
    if (item === 1) throw new Error('one');
    return item * 10;
  };
  const used: number[] = [];
  const using = (async () => {
    for await (const [item, result] of prefetch([5, 1, 4, 3, 2], 3, work)) used.push(item, await result);
  })();
  await expect(using).rejects.toThrow('one');
  expect(used).toEqual([5, 50]);
  expect(log).toEqual(['begin 5', 'begin 1', 'begin 4', 'end 1', 'end 4', 'end 5', 'begin 3', 'end 3']);
});

it('runs nothing ahead with a limit of 1', async () => {
  let begun = 0;
  const work = async (): Promise<number> => (begun += 1);
  let seen = 0;
  for await (const [, result] of prefetch([1, 2, 3], 1, work)) {
    expect([begun, await result]).toEqual([seen + 1, seen + 1]);
    seen += 1;
  }
  expect(seen).toBe(3);
});

it('leaves nothing running if the loop ends without waiting for its item', async () => {
  let running = 0;
  const work = async (): Promise<void> => {
    running += 1;
    await setImmediate();
    running -= 1;
  };
  for await (const [item] of prefetch([1, 2, 3], 2, work)) {
    expect([item, running]).toEqual([1, 2]);
    break;
  }
  expect(running).toBe(0);
});

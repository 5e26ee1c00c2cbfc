import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { takeThreadsAway, threadsOfTests } from '../../support/test-threads.ts';
import { WatchedWrites, expectFile } from './watched-writes.ts';

const KIB = 1024;
const prng = createPrng(20261120);

describe.each(['by the caller', 'by threads'])('files written behind %s', (where) => {
  beforeAll(() => {
    if (where === 'by the caller') return takeThreadsAway();
    threadsOfTests().prepare();
    return undefined;
  });

  test('are whole or not there when it is stopped, and nobody writes any more', async () => {
    const watched = new WatchedWrites();
    const directory = temporaryDirectory();
    const content = prng.bytes(4 * KIB);
    for (let index = 0; index < 200; index += 1) watched.add(join(directory, `f${index}`), content);
    await watched.behind.stop();
    const names = readdirSync(directory);
    expect(names.length).toBeLessThan(200);
    for (const name of names) expectFile(join(directory, name), content);
    expect(watched.outcomes).toEqual([]);
    await watched.behind.finish();
    expect(readdirSync(directory)).toEqual(names);
  });

  test('that were only gathered are dropped', async () => {
    const watched = new WatchedWrites();
    const directory = temporaryDirectory();
    watched.add(join(directory, 'f'), prng.bytes(10));
    await watched.behind.stop();
    expect([watched.outcomes, readdirSync(directory)]).toEqual([[], []]);
  });
});

test('a restore that stops waits for the thread that still writes', async () => {
  let endThread = (): void => undefined;
  const threadIsDone = new Promise<void>((resolve) => void (endThread = resolve));
  const writing = { result: async () => new Uint8Array(1), drop: async () => threadIsDone };
  const watched = new WatchedWrites(undefined, { writeFiles: () => writing });
  watched.add(join(temporaryDirectory(), 'f'), prng.bytes(10));
  watched.behind.start();
  let isStopped = false;
  const stopping = watched.behind.stop().then(() => (isStopped = true));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isStopped).toBe(false);
  endThread();
  await stopping;
});

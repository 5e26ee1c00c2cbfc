import { createSecretKey } from 'node:crypto';
import { getHeapSpaceStatistics } from 'node:v8';

import { limitHeap } from '../../src/console/heap-limits.ts';
import { TaskPool } from '../../src/core/workers/task-pool.ts';

const MIB = 1024 * 1024;

/** Bytes that do not compress, so that all of them are encrypted. */
function contentOf(sizeBytes: number): Uint8Array {
  const content = new Uint8Array(new SharedArrayBuffer(sizeBytes));
  for (let index = 0, word = 1; index < sizeBytes; index += 1) content[index] = word = (word * 48_271) % 2_147_483_647;
  return content;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Objects that survive make the young generation grow. */
async function keepObjects(): Promise<number> {
  const kept: object[] = [];
  for (let round = 0; round < 100; round += 1) {
    for (let index = 0; index < 20_000; index += 1) kept[(round * 20_000 + index) % 200_000] = { index };
    await turns(1);
  }
  return kept.length;
}

limitHeap(false);
let keptCount = await keepObjects();
const pool = new TaskPool({ threadCount: 2, inlineBytes: 0 });
const key = { epoch: 1, secret: createSecretKey(Buffer.alloc(32, 7)), repositoryId: Buffer.alloc(32) };
const raws = [contentOf(4 * MIB), contentOf(4 * MIB)];
let [usualBytes, mostBytes] = [0, 0];
for (let round = 0; round < 40; round += 1) {
  await Promise.all(
    raws.map(async (raw) =>
      pool.run({ name: 'seal', raw, level: undefined, key, kind: 'data', chunkLengths: Uint32Array.of(raw.length) }),
    ),
  );
  if (round === 1) usualBytes = process.memoryUsage.rss();
  mostBytes = Math.max(mostBytes, process.memoryUsage.rss());
}
// The threads that have started do not make it grow on.
keptCount += await keepObjects();
pool.close();
const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')!;
process.stdout.write(
  JSON.stringify({ grownMib: (mostBytes - usualBytes) / MIB, youngMib: young.space_size / MIB, keptCount }),
);

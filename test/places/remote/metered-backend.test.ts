import { expect, it } from 'vitest';

import { MeteredBackend } from '../../../src/places/remote/metered-backend.ts';
import { RateLimiter } from '../../../src/places/remote/rate-limiter.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';

const BYTES = Buffer.alloc(100_000, 'bytes ');

async function memoryBackend(): Promise<MemoryBackend> {
  const backend = new MemoryBackend();
  await backend.prepare(['tmp', 'packs', 'locks']);
  return backend;
}

it('counts requests and bytes both ways', async () => {
  const backend = new MeteredBackend(await memoryBackend());
  await backend.publish('packs/a', BYTES);
  await backend.readRange('packs/a', 10, Buffer.alloc(300));
  await backend.read('packs/a');
  await backend.list('packs');
  await backend.sizesOf(['packs/a', 'packs/b']);
  const file = await backend.stage();
  await file.append(BYTES);
  await file.append(BYTES);
  await file.publish('packs/b');
  expect(backend.traffic).toEqual({ requests: 6, uploadedBytes: 300_000, downloadedBytes: 100_300 });
});

it('makes contents of every size wait, and nothing that the lock needs', async () => {
  const waits: number[] = [];
  const clock = { nowMs: () => 0, sleep: async (durationMs: number) => void waits.push(durationMs) };
  // After its burst of a quarter of a second, whatever takes bytes sleeps.
  const limiter = new RateLimiter(1000, clock);
  await limiter.take(250);
  const backend = new MeteredBackend(await memoryBackend(), { upload: limiter, download: limiter });
  await backend.claim('locks/a');
  await backend.refresh('locks/a');
  await backend.heartbeatOf('locks/a');
  await backend.sizeOf('locks/a');
  await backend.list('locks');
  await backend.release('locks/a');
  expect(waits).toEqual([]);

  await backend.publish('packs/a', BYTES);
  expect(waits.splice(0)).toEqual([100_000]);
  const file = await backend.stage();
  await file.append(BYTES);
  expect(waits.splice(0)).toHaveLength(7);
  await file.publish('packs/b');
  const target = Buffer.alloc(BYTES.length - 5);
  await backend.readRange('packs/b', 5, target);
  expect(target.equals(BYTES.subarray(5))).toBe(true);
  expect(waits.splice(0)).toHaveLength(7);
  expect(Buffer.from(await backend.read('packs/a')).equals(BYTES)).toBe(true);
  expect(waits).toHaveLength(1);
});

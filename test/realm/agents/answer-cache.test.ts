import { expect, it, onTestFinished, vi } from 'vitest';

import { RealmKeys } from '../../../src/realm/formats/realm-keys.ts';
import { openAnswerCache } from '../../../src/realm/agents/answer-cache.ts';
import type { AnswerCache } from '../../../src/realm/agents/answer-cache.ts';
import { useRedis } from '../../support/redis-server.ts';
import { StallingProxy } from '../../support/stalling-proxy.ts';

const REALM = 'ab'.repeat(32);
const KEYS = new RealmKeys('cd'.repeat(32), REALM);
const VALUE = Buffer.from('value');
/** Longer than any pause of a busy machine. */
const DEADLINE_MS = 60_000;

const redis = useRedis();

async function open(url = redis.server.url, keys = KEYS): Promise<AnswerCache> {
  return await openAnswerCache(url, { realmId: REALM, keys, deadlineMs: DEADLINE_MS });
}

it('keeps a value for others, and lets it expire', async () => {
  const [writer, reader] = [await open(), await open()];
  expect(await reader.get('a')).toBeUndefined();
  await writer.set('a', VALUE, 60);
  expect(await reader.get('a')).toEqual(VALUE);
  const [key] = await redis.admin.keys('*');
  const left = await redis.admin.ttl(key!);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(60);
  await redis.admin.pexpire(key!, 1);
  while ((await redis.admin.exists(key!)) > 0);
  expect(await reader.get('a')).toBeUndefined();
  writer.close();
  reader.close();
});

it('FLUSHALL is like an empty cache', async () => {
  const cache = await open();
  await cache.set('b', VALUE, 60);
  expect(await cache.get('b')).toEqual(VALUE);
  await redis.admin.flushall();
  expect(await cache.get('b')).toBeUndefined();
  cache.close();
});

it('does not return what another realm, another name or somebody without the keys has written', async () => {
  const cache = await open();
  await cache.set('c', VALUE, 60);
  const key = `ldm:${REALM}:c`;
  const stored = (await redis.admin.getBuffer(key))!;
  const poisons = [
    Buffer.alloc(0),
    Buffer.from('poison'),
    Buffer.concat([stored, Buffer.from('x')]),
    ...Array.from(stored.keys(), (index) => {
      const changed = Buffer.from(stored);
      changed[index]! ^= 1;
      return changed;
    }),
  ];
  for (const poison of poisons) {
    await redis.admin.set(key, poison);
    expect(await cache.get('c')).toBeUndefined();
  }
  await redis.admin.set(`ldm:${REALM}:d`, stored);
  expect(await cache.get('d')).toBeUndefined();
  await redis.admin.set(key, stored);
  expect(await cache.get('c')).toEqual(VALUE);
  const other = await open(redis.server.url, new RealmKeys('ef'.repeat(32), REALM));
  expect(await other.get('c')).toBeUndefined();
  cache.close();
  other.close();
});

it('a server that stalls costs one deadline, not one for each question', async () => {
  await using proxy = await StallingProxy.start(redis.server.process.port);
  const cache = await open(`redis://127.0.0.1:${proxy.port}`);
  await cache.set('e', VALUE, 60);
  expect(await cache.get('e')).toEqual(VALUE);
  proxy.stall();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const late = cache.get('e');
  expect(vi.getTimerCount()).toBeGreaterThan(0);
  vi.advanceTimersByTime(DEADLINE_MS);
  expect(await late).toBeUndefined();
  vi.clearAllTimers();
  for (let count = 0; count < 20; count += 1) {
    // An answer without a timer has not been waited for.
    const asked = cache.get('e');
    expect(vi.getTimerCount()).toBe(0);
    expect(await asked).toBeUndefined();
  }
  cache.close();
});

it('a server that is killed, or was never there, is like an empty cache', async () => {
  const [cache, nowhere] = [await open(), await open('redis://127.0.0.1:1')];
  await cache.set('f', VALUE, 60);
  await redis.server.process.kill();
  for (const each of [cache, nowhere]) {
    expect(await each.get('f')).toBeUndefined();
    await each.set('f', VALUE, 60);
    each.close();
  }
  await redis.server.process.start();
});

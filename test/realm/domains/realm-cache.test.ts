import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';

import { backup } from '../../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { leaveRealm } from '../../../src/realm/verbs/realm/leave.ts';
import { locate } from '../../../src/realm/verbs/locate/locate.ts';
import type { LocateOptions, LocateResult, LocatedChunk } from '../../../src/realm/verbs/locate/locate.ts';
import { realmStatus } from '../../../src/realm/verbs/realm/status.ts';
import type * as AnswerCache from '../../../src/realm/agents/answer-cache.ts';
import { createPrng } from '../../support/prng.ts';
import { newMember, newRealm } from '../../support/realm.ts';
import { useRedis } from '../../support/redis-server.ts';
import { StallingProxy } from '../../support/stalling-proxy.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const SEED = 5;

/** How long a command waits for Redis: longer than any pause of a busy machine, unless a test says otherwise. */
const deadline = vi.hoisted(() => ({ ms: 300_000 }));
vi.mock('../../../src/realm/agents/answer-cache.ts', async (importOriginal) => {
  const original = await importOriginal<typeof AnswerCache>();
  const openAnswerCache: typeof original.openAnswerCache = async (url, options) =>
    original.openAnswerCache(url, { ...options, deadlineMs: deadline.ms });
  return { ...original, openAnswerCache };
});

const redis = useRedis();

interface Pair {
  readonly a: OperationContext;
  readonly b: OperationContext;
  /** A file that only `a` has, and one that nobody has. */
  readonly known: string;
  readonly unknown: string;
  readonly coordinator: string;
}

async function makePair(cache = redis.server.url): Promise<Pair> {
  const [file, coordinator, source] = [await newRealm('plain'), memoryDirectory(), memoryDirectory()];
  const [a, b] = [await newMember('plain', file), await newMember('plain', file)];
  await joinRealm(a, { coordinator, cache, name: 'a' });
  await joinRealm(b, { coordinator, cache, name: 'b' });
  const random = createPrng(SEED);
  const known = join(source, 'known');
  writeFileSync(known, random.bytes(300_000));
  await backup(a, { sources: [known], cwd: source });
  const unknown = join(source, 'unknown');
  writeFileSync(unknown, random.bytes(300_000));
  return { a, b, known, unknown, coordinator };
}

async function located(
  context: OperationContext,
  target: string,
  options: Partial<LocateOptions> = {},
): Promise<LocateResult & { readonly all: readonly LocatedChunk[]; readonly remembered: number }> {
  const all: LocatedChunk[] = [];
  const result = await locate(context, { target, ...options }, (chunk) => void all.push(chunk));
  const remembered = all.filter(({ elsewhere }) => elsewhere.some(({ isRemembered }) => isRemembered)).length;
  return { ...result, all, remembered };
}

it('the status names the cache, and says that it answers', async () => {
  const { b } = await makePair();
  const { cache } = await realmStatus(b);
  expect(cache).toEqual({ place: redis.server.url, problem: undefined });
});

it('answers are remembered, and said to be; --ask all does not use them', async () => {
  const { b, known } = await makePair();
  const first = await located(b, known);
  expect(first).toMatchObject({ absent: 0, unknown: 0, questions: first.chunks, remembered: 0 });
  const second = await located(b, known);
  expect(second).toMatchObject({ absent: 0, unknown: 0, questions: 0, remembered: first.chunks });
  expect(second.all.map(({ elsewhere }) => elsewhere[0]!.place)).toEqual(
    first.all.map(({ elsewhere }) => elsewhere[0]!.place),
  );
  expect(await located(b, known, { ask: 'all' })).toMatchObject({ questions: first.chunks, remembered: 0 });
  for (const key of await redis.admin.keys('*')) expect(await redis.admin.ttl(key)).toBeGreaterThan(0);
});

it('absence is never remembered as certain: a chunk that came since is found', async () => {
  const { a, b, unknown } = await makePair();
  const before = await located(b, unknown, { ask: 'all' });
  expect(before.absent).toBe(before.chunks);
  expect(await redis.admin.keys('*:answer:*')).toHaveLength(before.chunks);
  await backup(a, { sources: [unknown], cwd: '/' });
  const after = await located(b, unknown);
  expect(after).toMatchObject({ absent: 0, unknown: 0, remembered: 0 });
});

it('FLUSHALL and poisoned values change nothing but the number of questions', async () => {
  const { b, known } = await makePair();
  const first = await located(b, known);
  await redis.admin.flushall();
  expect(await located(b, known)).toMatchObject({ absent: 0, questions: first.chunks });
  const random = createPrng(SEED + 1);
  for (const key of await redis.admin.keys('*')) await redis.admin.set(key, random.bytes(100), 'EX', 60);
  expect(await located(b, known)).toMatchObject({ absent: 0, questions: first.chunks, remembered: 0 });
  // Right values under wrong names.
  const keys = await redis.admin.keys('*:answer:*');
  const values = await Promise.all(keys.map(async (key) => redis.admin.getBuffer(key)));
  for (const [index, key] of keys.entries()) await redis.admin.set(key, values[(index + 1) % keys.length]!, 'EX', 60);
  expect(await located(b, known)).toMatchObject({ absent: 0, questions: first.chunks, remembered: 0 });
});

it('planes come from the cache; those of a domain that has left and joined again do not', async () => {
  const { a, b, known, unknown, coordinator } = await makePair();
  await located(b, known);
  expect(await redis.admin.keys('*:plane:*')).not.toEqual([]);
  rmSync(join(coordinator, 'planes'), { recursive: true });
  const { domains: cached } = await realmStatus(b);
  expect(cached.map(({ name, isCurrent }) => [name, isCurrent])).toContainEqual(['a', true]);
  // The same names, with other contents.
  await leaveRealm(a);
  await backup(a, { sources: [unknown], cwd: '/' });
  await joinRealm(a, { coordinator, cache: redis.server.url, name: 'a' });
  const { domains } = await realmStatus(b);
  expect(domains.map(({ name, isCurrent }) => [name, isCurrent])).toContainEqual(['a', true]);
  expect(await located(b, unknown)).toMatchObject({ absent: 0, unknown: 0 });
});

it('a server that is stalled or killed costs a moment, and nothing else', async () => {
  await using proxy = await StallingProxy.start(Number(new URL(redis.server.url).port));
  const { b, known } = await makePair(`redis://127.0.0.1:${proxy.port}`);
  const { chunks } = await located(b, known);
  expect(await located(b, known)).toMatchObject({ questions: 0, remembered: chunks });
  proxy.stall();
  deadline.ms = 200;
  onTestFinished(() => void (deadline.ms = 300_000));
  expect(await located(b, known)).toMatchObject({ absent: 0, unknown: 0, questions: chunks });
  expect(proxy.stalledBytes).toBeGreaterThan(0);
  proxy.cut();
  expect(await located(b, known)).toMatchObject({ absent: 0, unknown: 0, questions: chunks });
});

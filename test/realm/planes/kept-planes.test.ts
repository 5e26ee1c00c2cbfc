import { describe, expect, it } from 'vitest';

import { PlaneSet } from '../../../src/core/ldm/planes.ts';
import type { AnswerCache } from '../../../src/realm/agents/answer-cache.ts';
import { CachedAnswers } from '../../../src/realm/agents/cached-answers.ts';
import { decodeHeldPlanes, encodeHeldPlanes, planeVerdict } from '../../../src/realm/planes/held-planes.ts';
import type { HeldPlane } from '../../../src/realm/planes/held-planes.ts';
import { KeptPlanes } from '../../../src/realm/planes/kept-planes.ts';
import { fakeAnswer } from '../../support/fake-agent-service.ts';
import { createPrng } from '../../support/prng.ts';
import { DOMAIN, PublishingDomain } from './plane-support.ts';
import { seedsOf } from '../../support/seeds.ts';

const SEEDS = seedsOf(4, 40);
const POSITIONS = 4096;

function maskOf(plane: Uint8Array, ids: Uint8Array): Buffer {
  const set = new PlaneSet();
  set.set(DOMAIN, { positions: POSITIONS, hashes: 3, plane });
  const mask = Buffer.alloc(Math.ceil(ids.length / 160));
  for (let index = 0; index * 20 < ids.length; index += 1)
    if (set.candidates(ids, index * 20).length > 0) mask[index >>> 3]! |= 1 << (index & 7);
  return mask;
}

describe('planes that are kept', () => {
  it.each(SEEDS)('are never said to be newer than they are, at no moment of an update (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const ids = prng.bytes(20 * 500);
    const domain = new PublishingDomain(seed, POSITIONS);
    const kept = new KeptPlanes(
      () => domain.files,
      async () => undefined,
    );
    const expected = new Map<number, Buffer>();
    const seen = new Set<number>();
    for (let step = 0; step < 40; step += 1) {
      domain.add(20 + prng.int(60));
      domain.remove(prng.int(60));
      await domain.publish();
      const { sequence } = domain.state!;
      expected.set(sequence, maskOf(domain.published, ids));
      const progress = { isLoading: true };
      const loading = kept.load(DOMAIN, domain.state).finally(() => (progress.isLoading = false));
      while (progress.isLoading) {
        for (const { state, maybe } of kept.ask(ids)) {
          seen.add(state.sequence);
          expect(expected.get(state.sequence)!.equals(maybe), `step ${step}`).toBe(true);
        }
        await Promise.resolve();
      }
      await loading;
      expect(kept.ask(ids).map(({ state }) => state.sequence)).toEqual([sequence]);
      expect(kept.isCurrent(DOMAIN, domain.state)).toBe(true);
    }
    expect(seen.size).toBeGreaterThan(30);
    kept.retain(new Set());
    expect([kept.ask(ids), kept.isCurrent(DOMAIN, domain.state)]).toEqual([[], false]);
  });

  it('stay, and are not current, while the record cannot be read or its files are gone', async () => {
    const domain = new PublishingDomain(1, POSITIONS);
    const kept = new KeptPlanes(
      () => domain.files,
      async () => undefined,
    );
    domain.add(50);
    await domain.publish();
    const before = domain.state;
    await kept.load(DOMAIN, before);
    await kept.load(DOMAIN, undefined);
    expect(kept.isCurrent(DOMAIN, undefined)).toBe(false);
    domain.add(50);
    await domain.publish();
    domain.files.stored.clear();
    await kept.load(DOMAIN, domain.state);
    expect(kept.ask(new Uint8Array()).map(({ state }) => state.sequence)).toEqual([before!.sequence]);
    expect(kept.isCurrent(DOMAIN, domain.state)).toBe(false);
  });
});

/** Keeps everything, in memory. */
function memoryCache(): AnswerCache {
  const values = new Map<string, Uint8Array>();
  return {
    get: async (name) => values.get(name),
    set: async (name, value) => void values.set(name, value),
    problem: async () => undefined,
    close: () => undefined,
  };
}

it('planes in a cache that are those of an earlier membership are read anew', async () => {
  const cache = memoryCache();
  const openCache = async (): Promise<AnswerCache> => cache;
  const before = new PublishingDomain(1, POSITIONS);
  before.add(50);
  await before.publish();
  const first = new KeptPlanes(() => before.files, openCache);
  await first.load(DOMAIN, before.state);
  expect(first.isCurrent(DOMAIN, before.state)).toBe(true);
  // Its files have the same names.
  const again = new PublishingDomain(2, POSITIONS);
  again.add(50);
  await again.publish();
  expect([...again.files.stored.keys()]).toEqual([...before.files.stored.keys()]);
  const kept = new KeptPlanes(() => again.files, openCache);
  await kept.load(DOMAIN, again.state);
  expect(kept.isCurrent(DOMAIN, again.state)).toBe(true);
  expect(kept.ask(new Uint8Array()).map(({ state }) => state)).toEqual([again.state]);
});

it('of what domains have answered, only that is remembered which stays for a while', async () => {
  const answers = new CachedAnswers(memoryCache());
  const ids = [1, 2, 3, 4].map((byte) => Buffer.alloc(20, byte));
  const given = [...(['live', 'dead', 'condemned'] as const).map((state) => ({ ...fakeAnswer(0), state })), undefined];
  for (const [index, id] of ids.entries()) await answers.remember(DOMAIN, id, given[index]);
  const recalled = await Promise.all(ids.map(async (id) => answers.recall(DOMAIN, id)));
  expect(recalled).toEqual([{ place: given[0] }, undefined, undefined, { place: undefined }]);
  expect(await answers.recall('ee'.repeat(32), ids[0]!)).toBeUndefined();
});

describe('what planes say', () => {
  const state = { generation: 1, sequence: 2, positions: 64, hashes: 3, liveCount: 1, checksum: 'ab'.repeat(32) };
  const held: HeldPlane = { domainId: DOMAIN, state, maybe: Buffer.from([0b101, 0b1]) };

  it('is a no only for a 0 of the plane that was published last', () => {
    const says = (published = state): boolean[] =>
      Array.from({ length: 9 }, (_, index) => planeVerdict(held, published, index) !== 'no');
    expect(says()).toEqual([true, false, true, false, false, false, false, false, true]);
    expect(says({ ...state, liveCount: 9 })).toEqual(says());
    const others = [
      { generation: 2 },
      { sequence: 3 },
      { positions: 65 },
      { hashes: 4 },
      { checksum: 'cd'.repeat(32) },
    ];
    for (const other of others) expect(says({ ...state, ...other })).not.toContain(false);
    expect([planeVerdict(undefined, state, 1), planeVerdict(held, undefined, 1)]).toEqual(['unknown', 'unknown']);
  });

  it('is read as it was written, and refused if it is about other chunks', () => {
    const sent = JSON.parse(JSON.stringify(encodeHeldPlanes([held]))) as object[];
    expect(decodeHeldPlanes(sent, 9)).toEqual([held]);
    expect(decodeHeldPlanes([], 9)).toEqual([]);
    for (const count of [8, 17]) expect(() => decodeHeldPlanes(sent, count)).toThrow('another number of chunks');
    const wrong = [{ checksum: 'ab' }, { domainId: 'a' }, { sequence: -1 }, { maybe: '5' }, { maybe: undefined }];
    for (const part of wrong) expect(() => decodeHeldPlanes([{ ...sent[0], ...part }], 9)).toThrow('its answer');
    for (const value of [undefined, {}, 'x', [1]]) expect(() => decodeHeldPlanes(value, 9)).toThrow('its answer');
  });
});

import { describe, expect, it } from 'vitest';

import type { SharedData } from '../../../src/core/ldm/shared-release.ts';
import { chooseForSize } from '../../../src/verbs/forget/size-choice.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { processorSecondsOf } from '../../support/processor-time.ts';
import { seedsOf } from '../../support/seeds.ts';

/** Sets of snapshots as bits of a number, with what exactly they share. */
type Shares = ReadonlyMap<number, number>;

function sharedOf(shares: Shares): SharedData[] {
  return [...shares].map(([bits, storedBytes]) => ({ members: Uint32Array.of(bits), storedBytes }));
}

function freedBy(shares: Shares, gone: number): number {
  return [...shares].reduce((sum, [bits, bytes]) => ((bits & ~gone) === 0 ? sum + bytes : sum), 0);
}

const bitsOf = (members: readonly number[]): number => members.reduce((bits, member) => bits | (1 << member), 0);
const countOf = (bits: number): number => bits.toString(2).replaceAll('0', '').length;

/** The same choice, computed anew for each step. */
function chooseNaively(shares: Shares, neededBytes: number): number {
  let gone = 0;
  while (freedBy(shares, gone) < neededBytes) {
    const steps = [...new Set([...shares.keys()].map((bits) => bits & ~gone))].filter((bits) => bits !== 0);
    const freed = freedBy(shares, gone);
    const rated = steps.map((bits) => {
      const count = countOf(bits);
      return { bits, count, ratio: (freedBy(shares, gone | bits) - freed) / count };
    });
    rated.sort((a, b) => b.ratio - a.ratio || a.count - b.count || a.bits - b.bits);
    gone |= rated[0]!.bits;
  }
  for (let member = 30; member >= 0; member -= 1) {
    const kept = gone & ~(1 << member);
    if (freedBy(shares, kept) >= neededBytes) gone = kept;
  }
  return gone;
}

function randomShares(prng: Prng): Shares {
  const shares = new Map<number, number>();
  const count = 1 + prng.int(12);
  for (let i = 0; i < 1 + prng.int(25); i += 1) {
    // Mostly runs of neighbours, as the versions of a file are.
    const first = prng.int(count);
    const run = ((2 << prng.int(count - first)) - 1) << first;
    const bits = prng.int(4) === 0 ? 1 + prng.int(2 ** count - 1) : run;
    shares.set(bits, 1 + prng.int(1000));
  }
  return shares;
}

describe('the choice of snapshots for a size', () => {
  it.each(seedsOf(1, 20))('is the same as if everything were measured again for each step (seed %i)', (seed) => {
    const prng = createPrng(seed);
    for (let run = 0; run < 500; run += 1) {
      const shares = randomShares(prng);
      const total = freedBy(shares, -1);
      const needed = 1 + prng.int(total);
      const steps = chooseForSize(sharedOf(shares), needed)!;
      const gone = bitsOf(steps.flatMap(({ members }) => members));
      const context = JSON.stringify({ seed, needed, shares: [...shares] });
      expect(gone, context).toBe(chooseNaively(shares, needed));
      expect(freedBy(shares, gone), context).toBeGreaterThanOrEqual(needed);
      expect(
        steps.reduce((sum, { freedBytes }) => sum + freedBytes, 0),
        context,
      ).toBe(freedBy(shares, gone));
      expect(chooseForSize(sharedOf(shares), total + 1)).toBeUndefined();
    }
  });

  it('takes a run of snapshots with a large file before many small ones', () => {
    // Ten snapshots share 1000 bytes; each of twenty others has 10 of its own.
    const shares = new Map([[0b11_1111_1111, 1000]]);
    for (let member = 10; member < 30; member += 1) shares.set(1 << member, 10);
    const steps = chooseForSize(sharedOf(shares), 500)!;
    expect(steps).toEqual([{ members: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], freedBytes: 1000 }]);
  });

  it('needs nothing for nothing', () => {
    expect(chooseForSize([], 0)).toEqual([]);
    expect(chooseForSize([], -5)).toEqual([]);
    expect(chooseForSize([], 1)).toBeUndefined();
  });

  it('is quick for a thousand snapshots', () => {
    const prng = createPrng(1);
    const shared = Array.from({ length: 2000 }, () => {
      const members = new Uint32Array(32);
      const first = prng.int(1000);
      for (let member = first; member < Math.min(1000, first + 1 + prng.int(60)); member += 1) {
        members[member >>> 5]! |= 1 << (member & 31);
      }
      return { members, storedBytes: 1 + prng.int(1e6) };
    });
    const total = shared.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
    let steps: ReturnType<typeof chooseForSize>;
    const seconds = processorSecondsOf(() => {
      steps = chooseForSize(shared, Math.floor(total * 0.5));
    });
    expect(seconds).toBeLessThan(20);
    expect(steps!.flatMap(({ members }) => members).length).toBeGreaterThan(100);
  });
});

import { describe, expect, it } from 'vitest';
import { runLoadTest } from '../../src/operations/filter/load-test.ts';
import { parseJsonLines } from '../cli/scenario.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { runLdm } from '../support/run-ldm.ts';

const SEED = 4;
const OPTIONS = { seed: SEED, idsPerDomain: 1000, lookUpsPerUser: 60, serviceMs: 5, servedAtOnce: 2 };

describe(`the load test (seed ${SEED})`, async () => {
  const result = await runLoadTest(OPTIONS);

  it('has the published numbers of users, and is at least three times as fast by filter in each row', () => {
    expect(result.load.map(({ users }) => users)).toEqual([10, 20, 40, 60, 80, 100]);
    for (const { speedUp, inTurn, byFilter } of result.load) {
      expect(speedUp).toBeGreaterThan(3);
      expect(speedUp).toBeCloseTo(inTurn.meanMs / byFilter.meanMs);
      expect(byFilter.p95Ms).toBeLessThan(inTurn.p95Ms);
      expect(inTurn.p50Ms).toBeLessThan(inTurn.p95Ms);
    }
  });

  it('asks as many questions as chance says', () => {
    // Half of the chunks are in one of 8 domains: 4.5 questions on average; an absent one takes 8. By filter, it takes
    // one for a chunk that is there, and one for each of 7 or 8 false positives of at most 1 %, half of them in vain.
    const { inTurn, byFilter } = result.load.at(-1)!;
    const lookUps = 100 * OPTIONS.lookUpsPerUser;
    expect(Math.abs(inTurn.questionsPerLookUp - 6.25)).toBeLessThan((5 * 2.4) / Math.sqrt(lookUps));
    expect(Math.abs(byFilter.questionsPerLookUp - 0.55)).toBeLessThan((5 * 0.56) / Math.sqrt(lookUps));
  });

  it('makes users wait if there are more of them than a domain serves', () => {
    const means = result.load.map(({ inTurn }) => inTurn.meanMs);
    expect(means.at(-1)!).toBeGreaterThan(2 * means[0]!);
    // No question is served faster than the domains can: 100 users, 6.25 questions of 5 ms, 16 places.
    expect(means.at(-1)! / ((100 * 6.25 * 5) / 16)).toBeGreaterThan(0.8);
  });

  it('publishes the flips of each night, in few bytes', () => {
    const { elements, changes, baseBytes, nights } = result.publication;
    expect([elements, changes, nights.length]).toEqual([100_000, 100, 7]);
    for (const { flips, bytes } of nights) {
      // Half of the positions of the 50 new chunks, and of the 50 that go, had another chunk.
      expect(flips / (100 * 3.5)).toBeGreaterThan(0.7);
      expect(flips / (100 * 3.5)).toBeLessThan(1.3);
      expect(bytes).toBeLessThan(Math.min(baseBytes / 50, 200 + 3 * flips));
    }
  });

  it('asks the same questions again with the seed, and has the same sizes', async () => {
    const small = { ...OPTIONS, idsPerDomain: 200, lookUpsPerUser: 10 };
    const [first, again] = [await runLoadTest(small), await runLoadTest(small)];
    const questions = (of: typeof result): number[] =>
      of.load.flatMap(({ inTurn, byFilter }) => [inTurn.questionsPerLookUp, byFilter.questionsPerLookUp]);
    expect(questions(again)).toEqual(questions(first));
    const flips = (of: typeof result): number[] => of.publication.nights.map((night) => night.flips);
    expect(flips(again)).toEqual(flips(first));
    expect(again.sizes.map(({ structureBytes }) => [...structureBytes])).toEqual(
      first.sizes.map(({ structureBytes }) => [...structureBytes]),
    );
  });
});

describe('ldm filter load-test', () => {
  const few = ['filter', 'load-test', '--ids', '500', '--look-ups', '20', '--seed', String(SEED)];

  it('prints its tables, and says what the published figures are', async () => {
    const { code, stdout, stderr } = await runLdm(few);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^seed 4, 8 domains of 500 chunks, 4 questions at once of 1 ms on average/);
    expect(stdout.match(/\d\.\d\d x$/gm)).toHaveLength(6);
    expect(stdout).toMatch(/^ {2}5,000 /m);
    expect(stdout).toContain('27.34 MB');
    expect(stdout).toContain('a domain of 50,000 chunks, 50 changed each night');
  });

  it('prints one message with the seed as JSON', async () => {
    const { code, stdout } = await runLdmHere([...few, '--json']);
    expect(code).toBe(0);
    const messages = parseJsonLines(stdout).filter(({ message_type }) => message_type !== 'status');
    expect(messages).toEqual([
      expect.objectContaining({ message_type: 'load_test', seed: SEED, ids_per_domain: 500, domains: 8 }),
    ]);
  });

  it.each(['--ids', '--look-ups', '--service-ms', '--at-once'])('refuses %s 0', async (option) => {
    const { code, stdout } = await runLdmHere(['filter', 'load-test', option, '0']);
    expect([code, stdout]).toEqual([2, '']);
  });
});

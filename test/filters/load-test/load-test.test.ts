import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Pacer } from '../../../src/core/util/pacer.ts';
import { CONTENDERS } from '../../../src/filters/compare/contenders.ts';
import { MeasuredFilter } from '../../../src/filters/compare/measured-filter.ts';
import { SIZED_NAMES } from '../../../src/filters/load-test/structure-sizes.ts';
import { parseJsonLines } from '../../cli/scenario.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { inSoak } from '../../support/soak.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const SEED = 4;
const IDS = inSoak(1000, 200);
const LOOK_UPS = inSoak(60, 40);
const SERVICE_MS = 5;
const AT_ONCE = 2;
const OPTIONS = { seed: SEED, ids: IDS, 'look-ups': LOOK_UPS, 'service-ms': SERVICE_MS, 'at-once': AT_ONCE };
const loadTest = [
  'filter',
  'load-test',
  ...Object.entries(OPTIONS).flatMap(([name, value]) => [`--${name}`, `${value}`]),
];

interface Figures {
  readonly questions_per_look_up: number;
  readonly mean_ms: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
}

interface Message {
  readonly load: readonly {
    readonly users: number;
    readonly in_turn: Figures;
    readonly by_filter: Figures;
    readonly speed_up: number;
  }[];
  readonly sizes: readonly { readonly elements: number; readonly structure_bytes: Readonly<Record<string, number>> }[];
  readonly publication: {
    readonly elements: number;
    readonly changes: number;
    readonly base_bytes: number;
    readonly nights: readonly { readonly flips: number; readonly bytes: number }[];
  };
}

/** The bytes of each structure after it has received so many ids, in this process. */
async function structureBytes(elements: number): Promise<Record<string, number>> {
  const bytes: Record<string, number> = {};
  for (const contender of CONTENDERS.filter(({ name }) => SIZED_NAMES.includes(name))) {
    const { filter } = contender.make({ capacity: elements, falsePositiveRate: 0.01, ids: 'hashed' });
    await new MeasuredFilter(filter, SEED, new Pacer({})).insert(0, elements);
    bytes[contender.name] = filter.memoryBytes;
  }
  return bytes;
}

// In a process of its own: it collects the garbage of its whole heap twenty times, and that of the tests is large.
describe(`the load test (seed ${SEED})`, async () => {
  const { code, stdout } = await runLdm([...loadTest, '--json']);
  const messages = parseJsonLines(stdout).filter(({ message_type }) => message_type !== 'status');
  const { load, sizes, publication } = messages[0] as unknown as Message;

  it('prints one message with the seed as JSON', () => {
    expect(code).toBe(0);
    expect(messages).toEqual([
      expect.objectContaining({ message_type: 'load_test', seed: SEED, ids_per_domain: IDS, domains: 8 }),
    ]);
  });

  it('has the published numbers of users, and is at least three times as fast by filter in each row', () => {
    expect(load.map(({ users }) => users)).toEqual([10, 20, 40, 60, 80, 100]);
    for (const { speed_up, in_turn, by_filter } of load) {
      expect(speed_up).toBeGreaterThan(3);
      expect(speed_up).toBeCloseTo(in_turn.mean_ms / by_filter.mean_ms);
      expect(by_filter.p95_ms).toBeLessThan(in_turn.p95_ms);
      expect(in_turn.p50_ms).toBeLessThan(in_turn.p95_ms);
    }
  });

  it('asks as many questions as chance says', () => {
    // Half of the chunks are in one of 8 domains: 4.5 questions on average; an absent one takes 8. By filter, it takes
    // one for a chunk that is there, and one for each of 7 or 8 false positives of at most 1 %, half of them in vain.
    const { in_turn, by_filter } = load.at(-1)!;
    const lookUps = 100 * LOOK_UPS;
    expect(Math.abs(in_turn.questions_per_look_up - 6.25)).toBeLessThan((5 * 2.4) / Math.sqrt(lookUps));
    expect(Math.abs(by_filter.questions_per_look_up - 0.55)).toBeLessThan((5 * 0.56) / Math.sqrt(lookUps));
  });

  it('makes users wait if there are more of them than a domain serves', () => {
    const means = load.map(({ in_turn }) => in_turn.mean_ms);
    expect(means.at(-1)!).toBeGreaterThan(2 * means[0]!);
    // No question is served faster than the domains can: 100 users, 6.25 questions of 5 ms, 16 places.
    expect(means.at(-1)! / ((100 * 6.25 * SERVICE_MS) / (8 * AT_ONCE))).toBeGreaterThan(0.8);
  });

  it('publishes the flips of each night, in few bytes', () => {
    const { elements, changes, base_bytes, nights } = publication;
    expect([elements, changes, nights.length]).toEqual([100 * IDS, IDS / 10, 7]);
    for (const { flips, bytes } of nights) {
      // One half of the chunks are new and the others go: of their positions, half had another chunk.
      expect(flips / (changes * 3.5)).toBeGreaterThan(0.7);
      expect(flips / (changes * 3.5)).toBeLessThan(1.3);
      expect(bytes).toBeLessThan(Math.min(base_bytes / 50, 200 + 3 * flips));
    }
  });

  it('has sizes that the seed and the options alone determine', async () => {
    expect(sizes.map(({ elements }) => elements)).toEqual(Array.from({ length: 10 }, (_, index) => (index + 1) * IDS));
    for (const { elements, structure_bytes } of sizes) expect(structure_bytes).toEqual(await structureBytes(elements));
  });

  it('asks the same questions again with the seed, prints tables, and says what the published figures are', async () => {
    const directory = memoryDirectory();
    const again = await runLdm([...loadTest, '--csv', 'sizes.csv', '--svg', 'sizes.svg'], { cwd: directory });
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect(again.stdout).toMatch(
      new RegExp(`^seed 4, 8 domains of ${inSoak('1,000', '200')} chunks, 2 questions at once of 5 ms on average`),
    );
    expect(again.stdout.match(/\d\.\d\d x$/gm)).toHaveLength(6);
    expect(again.stdout).toMatch(inSoak(/^ {2}10,000 /m, /^ {2}2,000 /m));
    expect(again.stdout).toContain('27.34 MB');
    const [, firstRow, ...furtherRows] = readFileSync(join(directory, 'sizes.csv'), 'utf8').trim().split('\n');
    const first = [IDS, ...SIZED_NAMES.map((name) => sizes[0]!.structure_bytes[name])];
    expect([firstRow!.split(',').slice(0, -1), furtherRows.length]).toEqual([first.map(String), 9]);
    const drawing = readFileSync(join(directory, 'sizes.svg'), 'utf8');
    for (const name of [...SIZED_NAMES, 'JavaScript Set']) expect(drawing).toContain(`>${name}<`);
    expect(again.stdout).toContain(
      inSoak('a domain of 100,000 chunks, 100 changed each night', 'a domain of 20,000 chunks, 20 changed each night'),
    );
    const questions = /^ +\d+ +(\d\.\d\d) +[\d.]+ +[\d.]+ +[\d.]+ +(\d\.\d\d) .* x$/gm;
    expect([...again.stdout.matchAll(questions)].map(([, ...counts]) => counts)).toEqual(
      load.map((row) => [row.in_turn, row.by_filter].map((each) => each.questions_per_look_up.toFixed(2))),
    );
    const nights = again.stdout.slice(again.stdout.indexOf('\nPublication')).matchAll(/^ +\d +(\d+) +([\d,]+) /gm);
    expect([...nights].map(([, ...counts]) => counts.map((count) => Number(count.replace(',', ''))))).toEqual(
      publication.nights.map(({ flips, bytes }) => [flips, bytes]),
    );
  });
});

describe('ldm filter load-test', () => {
  it.each(['--ids', '--look-ups', '--service-ms', '--at-once'])('refuses %s 0', async (option) => {
    const { code, stdout } = await runLdmHere(['filter', 'load-test', option, '0']);
    expect([code, stdout]).toEqual([2, '']);
  });
});

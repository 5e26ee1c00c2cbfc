import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFuzzSubject } from '../support/fuzz/fuzz-subject.ts';
import type { FuzzSubject } from '../support/fuzz/fuzz-subject.ts';
import { runOrdeal } from '../support/fuzz/ordeal.ts';
import { mutateBelowNames } from '../support/fuzz/rendered.ts';
import { mutateFile } from '../support/fuzz/resealed.ts';
import { Watchdog } from '../support/fuzz/watchdog.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { seedRange, seedsIn } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';

/**
 * A fuzzer that has the key: it changes what is inside the seals, with fields, lengths and records where the format has
 * them, and seals it again under the right key and the right name. `LDM_FUZZ_ROUNDS` says how many rounds; each
 * round has a seed of its own, which is printed with whatever it finds.
 */
const SEEDS = seedRange(Number(process.env['LDM_FUZZ_ROUNDS'] ?? inSoak(5000, 6)));
/** No round takes a tenth of it. */
const WATCHDOG_SECONDS = 120;
const HOURS_MS = 24 * 3_600_000;

let directory: string;
let subject: FuzzSubject;
let watchdog: Watchdog;
beforeAll(async () => {
  directory = makeTemporaryDirectory();
  subject = await readFuzzSubject(directory);
  watchdog = new Watchdog(WATCHDOG_SECONDS);
});

afterAll(async () => {
  await watchdog.close();
  rmSync(directory, { recursive: true });
});

/** A changed copy of the repository, the same for the same seed. */
async function change(seed: number): Promise<{ readonly disk: MemoryBackend; readonly what: string }> {
  const prng = createPrng(seed);
  const disk = subject.backend.copy();
  const { opened } = subject;
  const keys = { ...opened.keys, random: (sizeBytes: number) => prng.bytes(sizeBytes) };
  const mutate = prng.int(2) === 0 ? mutateFile : mutateBelowNames;
  return { disk, what: await mutate(prng, disk, { ...subject, opened: { ...opened, keys } }) };
}

test(
  `changes inside the seals are reported or harmless ${SEEDS.name}`,
  async () => {
    const failures: string[] = [];
    for (const seed of seedsIn(SEEDS)) {
      if (failures.length >= 10) break;
      watchdog.note(`seed ${seed}`);
      const { disk, what } = await change(seed);
      const outcome = await runOrdeal(disk, subject);
      failures.push(...outcome.failures.map((failure) => `seed ${seed}, ${what}: ${failure}`));
    }
    expect(failures).toEqual([]);
  },
  HOURS_MS,
);

const KINDS = ['tree', 'block', 'footer', 'segment', 'snapshot'];
const FOLDERS = ['index', 'snapshots', 'deleted', 'manifests.bak', 'condemned', 'filter', 'config', 'keys'];
/** The names of the files, which are random, decide what a seed changes. All kinds come within a tenth of them. */
const SEEDS_MAX = 1000;

test('every kind of contents is changed, and the same seed changes the same', async () => {
  const missing = new Set([...KINDS, ...FOLDERS]);
  for (let seed = 1; seed <= SEEDS_MAX && missing.size > 0; seed++) {
    const [first, second] = [await change(seed), await change(seed)];
    for (const kind of first.what.split(/ and | /)) missing.delete(kind);
    const changed = first.disk.names();
    expect(second.disk.names()).toEqual(changed);
    for (const name of changed) expect(first.disk.view(name).equals(second.disk.view(name)), name).toBe(true);
  }
  expect([...missing]).toEqual([]);
});

import { chmodSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { SnapshotNotFoundError, UsageError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { CheckOptions, CheckResult, ReadData } from '../../../src/verbs/check/check.ts';
import { packSelector } from '../../../src/core/damage/pack-selector.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

interface Saved {
  readonly id: string;
  /** The files of the packs that its backup wrote, those of data first. */
  readonly packs: readonly string[];
}

interface Stage {
  readonly saved: readonly [Saved, Saved, Saved];
  readonly checkOnly: (options: CheckOptions) => Promise<CheckResult>;
}

/** Three snapshots that share no content. */
async function threeSnapshots(): Promise<Stage> {
  const { backup, context, source } = await makeTestRepository();
  const random = createPrng(11);
  const known = new Set<string>();
  const saved: Saved[] = [];
  for (const hostname of ['one', 'two', 'three']) {
    writeFileSync(join(source, hostname), random.bytes(300_000));
    const { snapshotId } = await backup({ hostname });
    rmSync(join(source, hostname));
    const all = filesBelow(join(context.backend.location, 'packs'));
    const packs = all.filter((file) => !known.has(file)).toSorted((a, b) => statSync(b).size - statSync(a).size);
    for (const file of packs) known.add(file);
    saved.push({ id: snapshotId!, packs });
  }
  return {
    saved: saved as unknown as Stage['saved'],
    checkOnly: async (options) => check(context, options),
  };
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile());
}

function flipByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[100]! ^= 1;
  chmodSync(path, 0o600);
  writeFileSync(path, bytes);
}

test('a check of one snapshot reads the packs that it needs, and no others', async () => {
  const { saved, checkOnly } = await threeSnapshots();
  const [one] = saved;
  const sizes = one.packs.map((file) => statSync(file).size);
  const result = await checkOnly({ selectors: [one.id.slice(0, 8)], readData: true });
  expect(result).toMatchObject({ findings: [], isSelection: true, snapshotsChecked: 1, packsRead: one.packs.length });
  expect(result.bytesRead).toBe(sizes.reduce((sum, size) => sum + size, 0));
  expect(await checkOnly({ filter: { hosts: ['one', 'two'] } })).toMatchObject({ snapshotsChecked: 2, bytesRead: 0 });
  expect(await checkOnly({ readData: true })).toMatchObject({ isSelection: false, snapshotsChecked: 3 });
});

test('damage is found by a check of the snapshot that needs it, and named for it alone', async () => {
  const { saved, checkOnly } = await threeSnapshots();
  const [one, two, three] = saved;
  flipByte(one.packs[0]!);
  rmSync(two.packs[0]!);
  flipByte(three.packs.at(-1)!);
  const kinds = ['pack-damaged', 'chunk-missing', 'pack-damaged'];
  for (const [index, { id }] of saved.entries()) {
    const { findings } = await checkOnly({ selectors: [id], readData: true });
    expect(findings[0]).toMatchObject({ severity: 'error', kind: kinds[index], impact: { snapshots: [id] } });
    expect(findings.flatMap((finding) => ('impact' in finding ? finding.impact!.snapshots : []))).not.toContain(
      saved[(index + 1) % 3]!.id,
    );
  }
});

test('a check of a snapshot does not see the damage of others', async () => {
  const { saved, checkOnly } = await threeSnapshots();
  const [one, two, three] = saved;
  for (const file of one.packs) flipByte(file);
  rmSync(two.packs[0]!);
  expect((await checkOnly({ selectors: [three.id], readData: true })).findings).toEqual([]);
  expect((await checkOnly({ readData: true })).findings.length).toBeGreaterThan(1);
});

test('snapshots that do not exist are an error', async () => {
  const { checkOnly } = await threeSnapshots();
  await expect(checkOnly({ selectors: ['latest'], filter: { hosts: ['four'] } })).rejects.toThrow(
    SnapshotNotFoundError,
  );
  await expect(checkOnly({ filter: { hosts: ['four'] } })).rejects.toThrow(SnapshotNotFoundError);
});

test('a share or a size of the data is read from packs chosen anew each time', async () => {
  const { saved, checkOnly } = await threeSnapshots();
  const files = saved.flatMap(({ packs }) => packs);
  const totalBytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const largest = Math.max(...files.map((file) => statSync(file).size));
  const options: readonly (readonly [ReadData, number])[] = [
    [{ percent: 30 }, 0.3 * totalBytes],
    [{ bytes: 100_000 }, 100_000],
    [{ bytes: 10 * totalBytes }, totalBytes],
    [{ percent: 100 }, totalBytes],
  ];
  for (const [readData, wanted] of options) {
    const { bytesRead, packBytes, findings } = await checkOnly({ readData });
    expect(findings).toEqual([]);
    expect(packBytes).toBe(totalBytes);
    expect(bytesRead).toBeGreaterThanOrEqual(Math.min(wanted, totalBytes));
    expect(bytesRead).toBeLessThan(wanted + largest);
  }
});

test('random choices reach every pack sooner or later', () => {
  const sizes = new Map(Array.from({ length: 20 }, (_, index) => [String(index).padStart(64, '0'), 1000]));
  const reached = new Set<string>();
  for (let round = 0; round < 1000 && reached.size < sizes.size; round += 1) {
    const isRead = packSelector({ percent: 10 }, sizes);
    const chosen = [...sizes.keys()].filter(isRead);
    expect(chosen).toHaveLength(2);
    for (const id of chosen) reached.add(id);
  }
  expect(reached.size).toBe(sizes.size);
});

test.each<ReadData>([{ percent: 0 }, { percent: 101 }, { bytes: 0 }, { part: 3, of: 2 }])(
  'there is no part %j',
  async (readData) => {
    const { context } = await makeTestRepository();
    await expect(check(context, { readData })).rejects.toThrow(UsageError);
  },
);

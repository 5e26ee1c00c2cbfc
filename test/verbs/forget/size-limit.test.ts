import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { measureRelease } from '../../../src/core/ldm/fold-release.ts';
import { measureSharedRelease } from '../../../src/core/ldm/shared-release.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots } from '../../../src/verbs/tag/tag.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { unlockOfTests } from '../../support/test-password.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const SNAPSHOTS = 7;
const SEEDS = seedsOf(1, 20);

/** Snapshots of random versions of some files, in two groups. */
async function makeRandom(seed: number): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const prng = createPrng(seed);
  const ids: string[] = [];
  for (let version = 0; version < SNAPSHOTS; version += 1) {
    for (let file = 0; file < 4; file += 1) {
      if (version === 0 || prng.int(3) === 0) {
        writeFileSync(join(repository.source, `file${file}`), createPrng(prng.int(12)).bytes(3000 + prng.int(20_000)));
      }
    }
    // Each has something of its own.
    writeFileSync(join(repository.source, 'own'), prng.bytes(2000));
    const time = `2026-01-0${version + 1}T00:00:00Z`;
    ids.push((await repository.backup({ time, hostname: prng.pick(['one', 'two']), force: true })).snapshotId!);
  }
  return { repository, ids };
}

it.each(SEEDS)('what any set of snapshots frees is the sum of what its members share (seed %i)', async (seed) => {
  const { repository, ids } = await makeRandom(seed);
  const opened = await Repository.open({ backend: repository.context.backend, mode: 'shared', unlock: unlockOfTests });
  const { state, reader } = await opened.openState();
  const prng = createPrng(seed);
  for (let run = 0; run < 40; run += 1) {
    const kinds = ids.map(() => prng.pick(['kept', 'released', 'candidate'] as const));
    const [released, candidates] = (['released', 'candidate'] as const).map((kind) =>
      ids.filter((_, index) => kinds[index] === kind),
    );
    const result = await measureSharedRelease(state, { released: released!, candidates: candidates! }, reader.readTree);
    const gone = prng.int(2 ** candidates!.length);
    const sum = result.shared.reduce(
      (bytes, { members, storedBytes }) => ((members[0]! & ~gone) === 0 ? bytes + storedBytes : bytes),
      result.storedBytes,
    );
    const set = [...released!, ...candidates!.filter((_, index) => (gone & (1 << index)) !== 0)];
    const { storedBytes } = await measureRelease(state, set, reader.readTree);
    expect(sum, JSON.stringify({ seed, run })).toBe(storedBytes);
  }
  await opened.close();
});

/** A size that is about the smallest that can be reached. */
async function findLimit(context: OperationContext, beforeBytes: number): Promise<number> {
  for (let lessBytes = 200_000; lessBytes > 500; lessBytes /= 1.5) {
    const keepSizeBytes = Math.floor(beforeBytes - lessBytes);
    const trial = forgetByPolicy(context, { policy: {}, keepSizeBytes, dryRun: true });
    if (
      await trial.then(
        () => true,
        () => false,
      )
    )
      return keepSizeBytes;
  }
  throw new Error('nothing can be freed');
}

it.each(SEEDS)(
  'a repository fits after what frees the most is deleted, and nothing more is deleted (seed %i)',
  async (seed) => {
    const { repository, ids } = await makeRandom(seed);
    const { context } = repository;
    const { size } = await forgetByPolicy(context, { policy: {}, keepSizeBytes: 1e9, dryRun: true });
    expect(size).toMatchObject({ limitBytes: 1e9, beforeBytes: size!.expectedBytes });
    const tooSmall = forgetByPolicy(context, { policy: {}, keepSizeBytes: 1 });
    await expect(tooSmall).rejects.toThrow(/cannot be reduced to 1 B: the snapshots that must stay need \d/);
    const { changed } = await pinSnapshots(context, { selectors: [ids[0]!] });
    const keepSizeBytes = await findLimit(context, size!.beforeBytes);
    const result = await forgetByPolicy(context, { policy: {}, keepSizeBytes });
    const removed = result.groups.flatMap((group) => group.removed);
    expect(removed.length, String(seed)).toBeGreaterThan(0);
    expect(removed.every((each) => each.size !== undefined && each.size.freedBytes > 0)).toBe(true);
    expect(result.size!.expectedBytes).toBeLessThanOrEqual(keepSizeBytes);
    expect(result.size!.beforeBytes - result.size!.expectedBytes).toBe(result.freed.storedBytes);
    // A compaction also gives back footers; only the image may grow a little.
    expect(result.compaction!.bytesAfter).toBeLessThan(result.size!.expectedBytes + 20_000);
    const left = (await listSnapshots(context)).map(({ id }) => id);
    expect(left).toContain(changed[0]!.new.id);
    expect(left).toContain(ids.at(-1));
    await repository.expectClean();
  },
);

it('what deletes free that can no longer be undone counts as free', async () => {
  const { repository, ids } = await makeRandom(4);
  const { context } = repository;
  await deleteSnapshots(context, { selectors: [ids[0]!], undoUntil: '2026-01-10T00:00:00Z' });
  const { size } = await forgetByPolicy(context, { policy: {}, keepSizeBytes: 1e9, dryRun: true });
  expect(size!.expectedBytes).toBeLessThan(size!.beforeBytes - 2000);
  const { groups, compaction } = await forgetByPolicy(context, { policy: {}, keepSizeBytes: size!.expectedBytes });
  expect(groups.flatMap(({ removed }) => removed)).toEqual([]);
  expect(compaction).toBeDefined();
});

it('a size applies to what the rules keep, and never to the newest of a group', async () => {
  const { repository, ids } = await makeRandom(3);
  const { context } = repository;
  const policy = { counts: { last: 2 } };
  const forgetting = forgetByPolicy(context, { policy, keepSizeBytes: 1 });
  await expect(forgetting).rejects.toThrow(RefusedError);
  expect(await listSnapshots(context)).toHaveLength(ids.length);
  const { groups } = await forgetByPolicy(context, { policy, keepSizeBytes: 1e9, groupBy: [] });
  expect(groups[0]!.kept.map(({ reasons }) => reasons)).toEqual([['last snapshot'], ['last snapshot']]);
  expect(groups[0]!.removed.every(({ size }) => size === undefined)).toBe(true);
});

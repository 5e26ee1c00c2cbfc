import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { withRepository } from '../../src/core/session/session.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { seedsOf } from '../support/seeds.ts';
import { TINY_CHUNKS, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { servePage } from './support.ts';
import type { ServedPage } from './support.ts';

const SNAPSHOTS = 15;
const SELECTIONS = 200;

async function makeHistory(prng: Prng): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  for (let number = 0; number < SNAPSHOTS; number += 1) {
    change(repository, prng);
    await repository.backup({ tags: [prng.int(2) === 0 ? 'odd' : 'even'] });
  }
  return repository;
}

function change({ source }: TestRepository, prng: Prng): void {
  for (let file = 0; file < 5; file += 1) {
    const directory = join(source, `d${prng.int(4)}`);
    if (prng.int(5) === 0) rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${prng.int(6)}`), createPrng(prng.int(12)).bytes(8000));
  }
}

async function idsOf(page: ServedPage): Promise<string[]> {
  return (await page.ask('snapshots')).snapshots.map(({ id }) => id);
}

describe('what the page says that a deletion frees', () => {
  it.each(seedsOf(1, 5))(`is what a delete frees, for ${SELECTIONS} selections (seed %i)`, async (seed) => {
    const prng = createPrng(seed);
    const repository = await makeHistory(prng);
    const page = await servePage(repository.context);
    const ids = await idsOf(page);
    const sizes = new Set<number>();
    let deletedCount = 0;
    for (let number = 0; number < SELECTIONS; number += 1) {
      const share = 1 + prng.int(5);
      const chosen = ids.filter(() => prng.int(6) < share);
      if (chosen.length === 0) chosen.push(ids[prng.int(ids.length)]!);
      const said = await page.ask('freed', { ids: chosen.join(',') });
      const isDeleted = number % 20 === 0;
      const context = isDeleted ? copyOf(repository, `copy-${number}`) : repository.context;
      const { freed } = await deleteSnapshots(context, { selectors: chosen, dryRun: !isDeleted });
      expect(said, `seed ${seed}, selection ${number}`).toEqual(freed);
      sizes.add(freed.storedBytes);
      deletedCount += isDeleted ? 1 : 0;
    }
    expect(sizes.size).toBeGreaterThan(SELECTIONS / 4);
    expect(deletedCount).toBe(SELECTIONS / 20);
  });
});

function copyOf({ directory, context }: TestRepository, name: string): OperationContext {
  cpSync(join(directory, 'repository'), join(directory, name), { recursive: true });
  return { ...context, backend: new LocalBackend(join(directory, name)) };
}

describe('an open page', () => {
  it('makes no delete wait, and follows what others delete, reclaim and add', async () => {
    const prng = createPrng(3);
    const repository = await makeHistory(prng);
    const page = await servePage(repository.context);
    let aheadMs = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    for (let round = 0; round < 6; round += 1) {
      const before = await idsOf(page);
      const gone = before.slice(0, 2);
      const said = await page.ask('freed', { ids: gone.join(',') });
      const asking = Promise.all(
        before
          .slice(2)
          .map(async (id) => page.ask('freed', { ids: id }))
          .concat(page.ask('freed', { ids: gone[0]! })),
      ).catch((error: unknown) => error);
      const deleted = await deleteSnapshots(repository.context, { selectors: gone });
      expect(deleted.freed).toEqual(said);
      expect(deleted.notReclaimed).toBeUndefined();
      // Only the one that was deleted may be missing.
      expect(String(await asking)).toMatch(/^\[object|404: no snapshot/);
      change(repository, prng);
      await repository.backup();
      aheadMs += 2001;
      expect(await idsOf(page)).toHaveLength(before.length - 1);
    }
    expect(page.failures).toEqual([]);
  });

  it('answers while another process has the repository to itself', async () => {
    const repository = await makeHistory(createPrng(4));
    const page = await servePage(repository.context);
    const [id] = await idsOf(page);
    await withRepository(repository.context, 'exclusive', async () => {
      const fresh = await servePage(repository.context);
      expect(await fresh.ask('freed', { ids: id! })).toEqual(await page.ask('freed', { ids: id! }));
    });
  });
});

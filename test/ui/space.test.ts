import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { measureUsage } from '../../src/verbs/du/du.ts';
import { collectStats } from '../../src/verbs/stats/stats.ts';
import type { SpacePart } from '../../src/ui/api/space.ts';
import { makeManySnapshots } from '../support/many-snapshots.ts';
import { createPrng } from '../support/prng.ts';
import { seedsOf } from '../support/seeds.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { servePage } from './support.ts';
import type { ServedPage } from './support.ts';

/** All directories and files below a directory, as one finds them by going from one to the next. */
async function walk(page: ServedPage, ids: string, path = ''): Promise<SpacePart[]> {
  const { parts, crumbs } = await page.ask('space', { ids, path });
  expect(path === '' || crumbs.at(-1)!.key === path).toBe(true);
  const found: SpacePart[] = [...parts];
  for (const part of parts) if (!part.isFile) found.push(...(await walk(page, ids, part.path.key)));
  return found;
}

const SEEDS = seedsOf(1, 5);
let partCount = 0;

it.each(SEEDS)('finds in each directory what `du` says (seed %i)', async (seed) => {
  const { context, snapshots } = await makeManySnapshots(seed, { snapshotCount: 4, fileCount: 25 });
  const page = await servePage(context);
  const prng = createPrng(seed);
  const ids = snapshots.map(({ id }) => id);
  for (const selectors of [[ids[3]!], ids.filter((_id, index) => index === 2 || prng.int(2) === 0)]) {
    const options = { selectors, asOne: true, depth: 99, largestFiles: 1000 };
    const [total, source, ...rows] = (await measureUsage(context, options))[0]!.rows;
    const answer = await page.ask('space', { ids: selectors.join(',') });
    expect(answer.crumbs.map(({ key }) => Buffer.from(key, 'base64url').toString('latin1'))).toEqual([source!.path]);
    const { freed } = await deleteSnapshots(context, { selectors, dryRun: true });
    expect(answer.total).toEqual({
      apparentBytes: total!.apparentBytes,
      storedBytes: total!.referencedBytes,
      onlyHereBytes: freed.storedBytes,
    });
    const said = (await walk(page, selectors.join(','))).map(
      ({ path, isFile, ...sizes }) =>
        [Buffer.from(path.key, 'base64url').toString('latin1'), { isFile, ...sizes }] as const,
    );
    const measured = rows.map(
      (row) =>
        [
          row.path,
          {
            isFile: row.isFile,
            apparentBytes: row.apparentBytes,
            storedBytes: row.referencedBytes,
            onlyHereBytes: row.onlyHere.storedBytes,
          },
        ] as const,
    );
    expect(new Map(said), `seed ${seed}`).toEqual(new Map(measured));
    expect(said.length).toBe(measured.length);
    partCount += said.length;
  }
});

// Of all seeds: with a given one, a snapshot may have lost nearly all of its files.
it(`found files and directories (seeds ${SEEDS.join(', ')})`, () => {
  expect(partCount).toBeGreaterThan(40);
});

it('begins with the paths where there are several, and with the parent of a single file', async () => {
  const { context, source, backup } = await makeTestRepository();
  for (const name of ['a/one', 'b/c/two']) mkdirSync(join(source, name), { recursive: true });
  for (const name of ['a/file', 'b/c/file', 'file'])
    writeFileSync(join(source, name), createPrng(name.length).bytes(5000));
  await backup({ sources: [join(source, 'a'), join(source, 'b/c')] });
  await backup({ sources: [join(source, 'file')] });
  const page = await servePage(context);
  const [single, several] = (await page.ask('snapshots')).snapshots.map(({ id }) => id);
  const textsOf = (parts: readonly SpacePart[]): string[] => parts.map(({ path }) => path.text.slice(source.length));
  const top = await page.ask('space', { ids: several! });
  expect(textsOf(top.parts).toSorted()).toEqual(['/a', '/b']);
  const b = top.parts.find(({ path }) => path.text.endsWith('/b'))!;
  const inside = await page.ask('space', { ids: several!, path: b.path.key });
  expect(textsOf(inside.parts)).toEqual(['/b/c']);
  expect(inside.crumbs.map(({ text }) => text)).toEqual([source, `${source}/b`]);
  expect(await page.ask('space', { ids: single! })).toMatchObject({
    crumbs: [{ text: source }],
    parts: [{ path: { text: `${source}/file` }, isFile: true, apparentBytes: 5000 }],
  });
  await expect(page.ask('space', { ids: '' })).rejects.toThrow(/^400: ids names no snapshot/);
  await expect(page.ask('space', { ids: single!, path: b.path.key })).rejects.toThrow(/^404: no selected snapshot/);
});

it('shows growth that ends with what `stats` says', async () => {
  const { context, snapshots } = await makeManySnapshots(3, { snapshotCount: 4, fileCount: 10 });
  const page = await servePage(context);
  const { steps } = await page.ask('growth');
  const stats = await page.ask('stats');
  const collected = await collectStats(context);
  expect(steps.map(({ id }) => id)).toEqual(snapshots.map(({ id }) => id));
  expect(steps.reduce((sum, { storedBytes }) => sum + storedBytes, 0)).toBe(collected.storedBytes);
  expect(stats).toMatchObject({ storedBytes: collected.storedBytes, dedupRatio: collected.dedupRatio });
});

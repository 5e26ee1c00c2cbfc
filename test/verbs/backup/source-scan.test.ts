import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';

import { announceTotals } from '../../../src/verbs/backup/source-scan.ts';
import { planSources } from '../../../src/core/sources/source-plan.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import type { Progress } from '../../../src/core/session/progress.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** The totals that a scan finds, beside what a backup with the same sources and patterns counts. */
async function expectTotals(repository: TestRepository, sources: string[], exclude: string[]): Promise<void> {
  const plan = await planSources(sources, '/', () => undefined);
  const repositoryPlace = repository.context.backend.localDirectory;
  const progress = { ...createProgress(), isShown: true };
  const scan = announceTotals(progress, undefined, { plan, excluded: { exclude }, repositoryPlace });
  await vi.waitFor(() => expect(progress.filesTotal).toBeDefined());
  scan!.stop();
  const { summary } = await repository.backup({ sources, exclude });
  expect(totalsOf(progress)).toEqual([summary.totalFilesProcessed, summary.totalBytesProcessed]);
  expect(summary.totalFilesProcessed).toBeGreaterThan(1);
}

function totalsOf({ filesTotal, bytesTotal }: Progress): unknown[] {
  return [filesTotal, bytesTotal];
}

it('finds the files and bytes that the backup beside it will save', async () => {
  const repository = await makeTestRepository();
  const { source, directory } = repository;
  mkdirSync(join(source, 'deep', 'deeper'), { recursive: true });
  mkdirSync(join(source, 'skipped'));
  const names = ['a', 'deep/b', 'deep/deeper/\u00fc', 'skipped/c', 'x.tmp'];
  for (const [index, name] of names.entries()) writeFileSync(join(source, name), 'x'.repeat(index * 1000));
  linkSync(join(source, 'a'), join(source, 'same'));
  symlinkSync('deep', join(source, 'link'));
  await expectTotals(repository, [source], []);
  await expectTotals(repository, [source], ['skipped', '*.tmp']);
  // The repository itself is not saved; a root that is a symlink is followed.
  await expectTotals(repository, [directory], []);
  symlinkSync(source, join(directory, 'to-source'));
  await expectTotals(repository, [join(directory, 'to-source')], []);
});

it('is not needed if a parent snapshot has the same paths, or if no progress is shown', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'a'), 'abc');
  const { summary } = await repository.backup();
  const parent = { id: '', tree: new Uint8Array(), summary, wholeTree: undefined, attributes: undefined, startMs: 0 };
  const plan = await planSources([repository.source], '/', () => undefined);
  const scope = { plan, excluded: {}, repositoryPlace: '/' };
  const progress = createProgress();
  expect(announceTotals(progress, undefined, scope)).toBeUndefined();
  expect(totalsOf(progress)).toEqual([undefined, undefined]);
  progress.isShown = true;
  expect(announceTotals(progress, parent, scope)).toBeUndefined();
  expect(totalsOf(progress)).toEqual([1, 3]);
  const scan = announceTotals(progress, { ...parent, summary: undefined }, scope);
  expect(scan).toBeDefined();
  scan!.stop();
});

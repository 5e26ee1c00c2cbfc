import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { packName } from '../../../src/core/format/layout.ts';
import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import { measureUsage } from '../../../src/verbs/du/du.ts';
import { findEntries } from '../../../src/verbs/find/find.ts';
import { findHistory } from '../../../src/verbs/history/history.ts';
import { kindOfPack } from '../../support/pack-kind.ts';
import { isEncryptedRun } from '../../support/test-password.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

interface Stage extends TestRepository {
  readonly ids: readonly string[];
}

/**
 * Three snapshots. The tree of the directory `lost` cannot be read in the first two; in the third one it is another one.
 * What is above it can be read in all but the first.
 */
async function makeStage(): Promise<Stage> {
  const repository = await makeTestRepository();
  const { source, directory } = repository;
  mkdirSync(join(source, 'lost'));
  writeFileSync(join(source, 'lost', 'file'), 'x');
  const ids = [(await repository.backup()).snapshotId!];
  const packIds = filesOf(repository, 'packs');
  writeFileSync(join(source, 'other'), 'x');
  ids.push((await repository.backup()).snapshotId!);
  writeFileSync(join(source, 'lost', 'new'), 'x');
  ids.push((await repository.backup()).snapshotId!);
  const keys = isEncryptedRun ? filesOf(repository, 'keys') : [];
  const [key] = keys.map((name) => readFileSync(join(directory, 'repository', 'keys', name)));
  for (const path of packIds.map((id) => join(directory, 'repository', packName(id)))) {
    const bytes = readFileSync(path);
    if (kindOfPack(bytes, key) !== 'tree') continue;
    chmodSync(path, 0o600);
    writeFileSync(path, bytes.fill(0, 20, bytes.length >>> 1));
  }
  return { ...repository, ids };
}

function unreadableIn({ notices }: TestRepository): string[] {
  return notices.flatMap((notice) => (notice.kind === 'tree-unreadable' ? [notice.path] : []));
}

describe('a directory that cannot be read', () => {
  it.each([
    [1, 2],
    [2, 1],
  ])('is not compared, on whatever side it is (%i, %i)', async (before, after) => {
    const stage = await makeStage();
    const result = await diffSnapshots(stage.context, { before: stage.ids[before]!, after: stage.ids[after]! });
    expect(result).toMatchObject({ changes: [], unreadableTrees: 1 });
    expect(unreadableIn(stage)).toEqual([join(stage.source, 'lost')]);
  });

  it('is said to hide a path, which is not called absent', async () => {
    const stage = await makeStage();
    const path = join(stage.source, 'lost', 'file');
    const { versions, unreadableTrees } = await findHistory(stage.context, { path });
    expect(versions.map(({ listing, change }) => [listing.id, change])).toEqual([[stage.ids[2], '+']]);
    expect(unreadableTrees).toBe(2);
    const hidden = await findHistory(stage.context, { path, filter: { before: versions[0]!.listing.snapshot.time } });
    expect(hidden).toMatchObject({ versions: [], snapshotCount: 2, unreadableTrees: 2 });
  });

  it('is reported once by a search, however many snapshots have it', async () => {
    const stage = await makeStage();
    rmSync(join(stage.source, 'lost', 'new'));
    const selectors = [stage.ids[1]!, `${stage.ids[1]!}:source`, `${stage.ids[1]!}:source/lost`];
    const paths: string[] = [];
    const result = await findEntries(
      stage.context,
      { patterns: ['file', 'other'], selectors },
      { begin: () => undefined, visit: ({ path }) => paths.push(path) },
    );
    expect(result).toMatchObject({ unreadableTrees: 1, hits: 2 });
    expect(new Set(paths)).toEqual(new Set([join(stage.source, 'other')]));
    expect(unreadableIn(stage)).toEqual([join(stage.source, 'lost')]);
  });

  it('makes its size unknown', async () => {
    const stage = await makeStage();
    await expect(measureUsage(stage.context, { selectors: [stage.ids[1]!] })).rejects.toThrow(CorruptDataError);
  });
});

it('no older snapshot is called the latest where the newest is lost', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), 'x');
  await repository.backup();
  writeFileSync(join(repository.source, 'file'), 'y');
  const lost = (await repository.backup()).snapshotId!;
  for (const name of ['snapshots', 'manifests.bak']) rmSync(join(repository.directory, 'repository', name, lost));
  const { context } = repository;
  const refusal = { message: expect.stringContaining('cannot tell which snapshot latest is') };
  await expect(measureUsage(context, {})).rejects.toMatchObject(refusal);
  await expect(diffSnapshots(context, { before: 'latest' })).rejects.toMatchObject(refusal);
  const visitor = { begin: () => undefined, visit: () => undefined };
  await expect(findEntries(context, { patterns: ['*'], selectors: ['latest'] }, visitor)).rejects.toMatchObject(
    refusal,
  );
});

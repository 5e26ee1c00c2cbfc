import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SnapshotNotFoundError } from '../../../src/core/errors.ts';
import { findHistory } from '../../../src/verbs/history/history.ts';
import type { PathVersion } from '../../../src/core/snapshots/path-versions.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { bytesOf } from '../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { makeManySnapshots } from '../../support/many-snapshots.ts';
import type { ManySnapshots } from '../../support/many-snapshots.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

/** What makes a version of an entry. */
function contentOf(entry: TreeEntry): string {
  const { type, sizeBytes, chunkIds, linkTarget, treeId } = entry;
  const ids = [chunkIds, treeId ?? new Uint8Array()].map((bytes) => Buffer.from(bytes).toString('hex'));
  return JSON.stringify([type, sizeBytes, linkTarget, ids]);
}

/** The versions that the lists of the snapshots show: snapshot, change and number of snapshots. */
function expectedVersions({ snapshots, contents }: ManySnapshots, path: ByteString): unknown[] {
  const versions: { id: string; host: string; state: string; change: string; count: number }[] = [];
  for (const { id, snapshot } of snapshots) {
    const entry = contents.get(id)!.get(path);
    const before = versions.findLast(({ host }) => host === snapshot.hostname);
    const state = entry === undefined ? 'absent' : contentOf(entry);
    if (before === undefined ? entry === undefined : before.state === state) {
      if (before !== undefined) before.count += 1;
      continue;
    }
    const typeOf = (text: string): string => text.split(',')[0]!;
    let change = before === undefined || before.state === 'absent' ? '+' : 'M';
    if (entry === undefined) change = '-';
    else if (change === 'M' && typeOf(before!.state) !== typeOf(state)) change = 'T';
    versions.push({ id, host: snapshot.hostname, state, change, count: 1 });
  }
  return versions.map(({ id, change, count }) => [id, change, count]);
}

function summarize(versions: readonly PathVersion[]): unknown[] {
  return versions.map(({ listing, change, snapshotCount }) => [listing.id, change, snapshotCount]);
}

describe('findHistory', () => {
  it('gives the versions of every path that any snapshot has', async () => {
    const stage = await makeManySnapshots(31, { snapshotCount: 8, fileCount: 40 });
    const all = new Set([...stage.contents.values()].flatMap((entries) => [...entries.keys()]));
    // Those that some snapshot lacks, and a few others.
    const paths = [...all].filter(
      (path, index) => index % 5 === 0 || [...stage.contents.values()].some((entries) => !entries.has(path)),
    );
    let versionCount = 0;
    for (const path of paths) {
      const { versions } = await findHistory(stage.context, { path: bytesOf(path) });
      expect(summarize(versions), path).toEqual(expectedVersions(stage, path));
      versionCount += versions.length;
    }
    expect(versionCount).toBeGreaterThan(paths.length + 20);
  });

  it('reads a tree on the way once, however many snapshots have it', async () => {
    const stage = await makeManySnapshots(32, { snapshotCount: 6, fileCount: 30 });
    const deepest = [...stage.contents.get(stage.snapshots[0]!.id)!.keys()].reduce((a, b) =>
      b.split('/').length > a.split('/').length ? b : a,
    );
    const onTheWay = new Set(stage.snapshots.map(({ snapshot }) => snapshot.tree));
    for (const entries of stage.contents.values())
      for (const [path, { treeId }] of entries)
        if (treeId !== undefined && deepest.startsWith(`${path}/`))
          onTheWay.add(`${path} ${Buffer.from(treeId).toString('hex')}`);
    expect((await findHistory(stage.context, { path: bytesOf(deepest) })).treesRead).toBe(onTheWay.size);
    const again = await makeTestRepository();
    writeFileSync(join(again.source, 'file'), 'x');
    for (let count = 0; count < 3; count += 1) await again.backup();
    expect((await findHistory(again.context, { path: join(again.source, 'file') })).treesRead).toBe(2);
  });

  it('takes a change of nothing but metadata for a version only if asked', async () => {
    const repository = await makeTestRepository();
    const file = join(repository.source, 'file');
    writeFileSync(file, 'x');
    await repository.backup();
    utimesSync(file, 1000, 1000);
    await repository.backup();
    const changes = async (metadata: boolean): Promise<string[]> =>
      (await findHistory(repository.context, { path: file, metadata })).versions.map(({ change }) => change);
    expect(await changes(false)).toEqual(['+']);
    expect(await changes(true)).toEqual(['+', 'U']);
  });

  it('does not take a path for removed in a snapshot of other paths', async () => {
    const repository = await makeTestRepository();
    const other = join(repository.directory, 'other');
    mkdirSync(other);
    const file = join(repository.source, 'file');
    writeFileSync(file, 'x');
    await repository.backup();
    await repository.backup({ sources: [other] });
    rmSync(file);
    await repository.backup();
    expect(existsSync(file)).toBe(false);
    const { versions, snapshotCount } = await findHistory(repository.context, { path: file });
    expect(versions.map(({ change }) => change)).toEqual(['+', '-']);
    expect(snapshotCount).toBe(2);
  });

  it('gives versions of a directory above what was backed up', async () => {
    const repository = await makeTestRepository();
    for (const name of ['one', 'two']) mkdirSync(join(repository.source, name));
    const sources = ['one', 'two'].map((name) => join(repository.source, name));
    for (let count = 0; count < 2; count += 1) await repository.backup({ sources });
    writeFileSync(join(repository.source, 'two', 'file'), 'x');
    await repository.backup({ sources });
    const { versions } = await findHistory(repository.context, { path: repository.source });
    expect(versions.map(({ change, snapshotCount }) => [change, snapshotCount])).toEqual([
      ['+', 2],
      ['M', 1],
    ]);
  });

  it('takes a relative path from the root of the snapshots if there is none below the current directory', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'x');
    await repository.backup();
    const { versions } = await findHistory(repository.context, { path: 'source/file' });
    expect(versions.map(({ path }) => path)).toEqual([join(repository.source, 'file')]);
    await expect(findHistory(repository.context, { path: 'source/absent' })).rejects.toThrow(SnapshotNotFoundError);
    await expect(findHistory(repository.context, { path: '/absent' })).rejects.toThrow(SnapshotNotFoundError);
  });
});

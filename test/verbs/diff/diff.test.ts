import { chmodSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import type { DiffResult } from '../../../src/verbs/diff/diff.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { makeManySnapshots } from '../../support/many-snapshots.ts';
import type { ManySnapshots } from '../../support/many-snapshots.ts';
import { SINGLE_CHUNKS, countTreeReads } from '../../support/pack-reads.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { seedsOf } from '../../support/seeds.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';

type Contents = ReadonlyMap<ByteString, TreeEntry>;

function contentOf({ type, sizeBytes, chunkIds, linkTarget }: TreeEntry): string {
  return JSON.stringify([type, sizeBytes, linkTarget, Buffer.from(chunkIds).toString('hex')]);
}

/** The differences of two lists, without moves. */
function expectedChanges(before: Contents, after: Contents): string[] {
  const changes: string[] = [];
  for (const [path, entry] of before) {
    const now = after.get(path);
    if (now === undefined) changes.push(`- ${path}`);
    else if (now.type !== entry.type) changes.push(`T ${path}`);
    else if (contentOf(now) !== contentOf(entry)) changes.push(`M ${path}`);
  }
  for (const path of after.keys()) if (!before.has(path)) changes.push(`+ ${path}`);
  return changes.sort();
}

/** The changes with a removal and an addition for each move; a directory is moved with everything in it. */
function withoutMoves({ changes }: DiffResult, before: Contents, after: Contents): string[] {
  const below = (contents: Contents, directory: ByteString): ByteString[] =>
    [...contents.keys()].filter((path) => path.startsWith(`${directory}/`));
  const expanded: string[] = [];
  for (const { modifier, path, sourcePath, type } of changes) {
    if (modifier !== 'R') {
      expanded.push(`${modifier} ${path}`);
      continue;
    }
    expanded.push(`- ${sourcePath!}`, `+ ${path}`);
    if (type !== 'directory') {
      expect(contentOf(before.get(sourcePath!)!)).toBe(contentOf(after.get(path)!));
      expect(after.get(path)!.sizeBytes).toBeGreaterThan(0);
      continue;
    }
    expect(before.get(sourcePath!)!.treeId).toEqual(after.get(path)!.treeId);
    for (const each of below(before, sourcePath!)) expanded.push(`- ${each}`);
    for (const each of below(after, path)) expanded.push(`+ ${each}`);
  }
  return expanded.sort();
}

/** No file may be left as removed whose content is that of one that is left as added. */
function expectAllPaired({ changes }: DiffResult, before: Contents, after: Contents): void {
  const keysOf = (modifier: string, contents: Contents): string[] =>
    changes
      .filter((change) => change.modifier === modifier && change.type === 'file')
      .map(({ path }) => contents.get(path)!)
      .filter(({ sizeBytes }) => sizeBytes > 0)
      .map(contentOf);
  const added = new Set(keysOf('+', after));
  expect(keysOf('-', before).filter((key) => added.has(key))).toEqual([]);
}

const SEEDS = seedsOf(1, 10);
let moveCount = 0;

describe('diffSnapshots of two snapshots', () => {
  it.each(SEEDS)('gives what their lists show, for any two snapshots (seed %i)', async (seed) => {
    const stage = await makeManySnapshots(seed, { snapshotCount: 6, fileCount: 50, changeCount: 12 });
    const pairs = stage.snapshots.flatMap((one) => stage.snapshots.map((other) => [one, other] as const));
    for (const [one, other] of pairs) {
      const result = await diffSnapshots(stage.context, { before: one.id, after: other.id });
      const [before, after] = [stage.contents.get(one.id)!, stage.contents.get(other.id)!];
      expect(withoutMoves(result, before, after), `seed ${seed}`).toEqual(expectedChanges(before, after));
      expectAllPaired(result, before, after);
      moveCount += result.changes.filter(({ modifier }) => modifier === 'R').length;
      const { statistics } = result;
      expect(statistics.added.files).toBe(result.changes.filter((c) => c.modifier === '+' && c.type === 'file').length);
      expect(statistics.added.dataChunks).toBeGreaterThanOrEqual(loneChunks(stage, other.id, one.id));
      expect(statistics.removed.dataChunks).toBeGreaterThanOrEqual(loneChunks(stage, one.id, other.id));
    }
  });

  // Of all seeds: with a given one, few files may be moved.
  it(`found moves (seeds ${SEEDS.join(', ')})`, () => {
    expect(moveCount).toBeGreaterThan(5);
  });

  it('counts exactly the chunks that only one has where nothing was copied', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    for (const name of ['a', 'b'])
      writeFileSync(join(repository.source, name), createPrng(name.charCodeAt(0)).bytes(20_000));
    await repository.backup();
    writeFileSync(join(repository.source, 'b'), createPrng(7).bytes(30_000));
    await repository.backup();
    const { statistics } = await diffSnapshots(repository.context, { before: 'latest~1', after: 'latest' });
    expect(statistics).toMatchObject({ changedFiles: 1, added: { files: 0, trees: 2 }, removed: { trees: 2 } });
    const { added, removed } = statistics;
    // The chunks of the file and two trees of less than 1 KB each.
    expect(added.bytes).toBeGreaterThan(30_000);
    expect(added.bytes).toBeLessThan(32_000);
    expect(removed.bytes).toBeGreaterThan(20_000);
    expect(removed.bytes).toBeLessThan(22_000);
  });

  it('reads only directories that differ', async () => {
    const repository = await makeTestRepository();
    Object.assign(repository.context, { storeSizes: SINGLE_CHUNKS });
    makeRandomTree(join(repository.source, 'large'), { seed: 5, fileCount: 60 });
    mkdirSync(join(repository.source, 'small'));
    await repository.backup();
    writeFileSync(join(repository.source, 'small', 'new'), 'x');
    await repository.backup();
    const { backend, places } = countTreeReads(repository.context.backend);
    const watched = { ...repository.context, backend };
    const { changes } = await diffSnapshots(watched, { before: 'latest~1', after: 'latest' });
    expect(changes.map(({ modifier }) => modifier)).toEqual(['+']);
    // The root, `source` and `small`, once for each snapshot.
    expect(places.size).toBe(6);
    // Moving a directory makes another tree of its parent only.
    renameSync(join(repository.source, 'large'), join(repository.source, 'renamed'));
    await repository.backup();
    const moved = await diffSnapshots(repository.context, { before: 'latest~1', after: 'latest' });
    expect(moved.changes.map(({ modifier, type }) => [modifier, type])).toEqual([['R', 'directory']]);
    expect(moved.statistics).toMatchObject({ movedDirectories: 1, added: { files: 0 }, removed: { files: 0 } });
  });

  it('lists changes of metadata only if asked', async () => {
    const repository = await makeTestRepository();
    mkdirSync(join(repository.source, 'directory'));
    writeFileSync(join(repository.source, 'file'), 'x');
    utimesSync(repository.source, 1000, 1000);
    await repository.backup();
    chmodSync(join(repository.source, 'file'), 0o640);
    utimesSync(join(repository.source, 'directory'), 1000, 1000);
    await repository.backup();
    const diff = async (metadata: boolean): Promise<string[]> =>
      (await diffSnapshots(repository.context, { before: 'latest~1', after: 'latest', metadata })).changes.map(
        ({ modifier, path }) => `${modifier} ${path}`,
      );
    expect(await diff(false)).toEqual([]);
    expect(await diff(true)).toEqual([`U ${repository.source}/directory`, `U ${repository.source}/file`]);
  });

  it('compares by absolute paths, whatever else the snapshots contain', async () => {
    const repository = await makeTestRepository();
    const other = join(repository.directory, 'other', 'deep');
    mkdirSync(other, { recursive: true });
    writeFileSync(join(repository.source, 'file'), 'x');
    writeFileSync(join(other, 'file'), 'y');
    await repository.backup({ sources: [join(repository.source, 'file')] });
    await repository.backup({ sources: [repository.source, other] });
    const { changes } = await diffSnapshots(repository.context, { before: 'latest~1', after: 'latest' });
    expect(changes.map(({ modifier, path }) => `${modifier} ${path}`)).toEqual([
      `+ ${repository.directory}/other`,
      `+ ${other}`,
      `+ ${other}/file`,
    ]);
  });
});

describe('diffSnapshots of places in snapshots', () => {
  it('compares two directories or files with each other, or the same one', async () => {
    const repository = await makeTestRepository();
    for (const name of ['one', 'two']) {
      mkdirSync(join(repository.source, name));
      writeFileSync(join(repository.source, name, 'same'), 'same');
      writeFileSync(join(repository.source, name, 'file'), name);
    }
    await repository.backup();
    const diff = async (before: string, after: string): Promise<string[]> =>
      (await diffSnapshots(repository.context, { before, after })).changes.map(
        ({ modifier, path }) => `${modifier} ${path}`,
      );
    expect(await diff('latest:source/one', 'latest:source/two')).toEqual(['M file']);
    expect(await diff('latest:source/one/same', 'latest:source/two/file')).toEqual(['M same']);
    writeFileSync(join(repository.source, 'one', 'file'), 'changed');
    await repository.backup();
    expect(await diff('latest~1:source/one', 'latest')).toEqual([`M ${repository.source}/one/file`]);
    expect(await diff('latest~1', 'latest:source/two')).toEqual([]);
    await expect(diff('latest:source', 'latest:source/one/file')).rejects.toThrow(UsageError);
  });
});

/** How many file chunks one snapshot has and another one does not. */
function loneChunks({ contents }: ManySnapshots, of: string, without: string): number {
  const idsOf = (id: string): Set<string> => {
    const ids = new Set<string>();
    for (const { chunkIds } of contents.get(id)!.values())
      for (let offset = 0; offset < chunkIds.length; offset += 20)
        ids.add(Buffer.from(chunkIds.subarray(offset, offset + 20)).toString('hex'));
    return ids;
  };
  const others = idsOf(without);
  return [...idsOf(of)].filter((id) => !others.has(id)).length;
}

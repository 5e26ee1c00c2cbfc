import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { compilePathPattern, lowerCaseOf } from '../../../src/core/files/paths/path-pattern.ts';
import { findEntries } from '../../../src/verbs/find/find.ts';
import type { FindOptions, FindResult, FoundEntry } from '../../../src/verbs/find/find.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { textOf } from '../../../src/core/util/byte-string.ts';
import { distinctTrees, makeManySnapshots } from '../../support/many-snapshots.ts';
import type { ManySnapshots } from '../../support/many-snapshots.ts';

async function find(
  { context }: Pick<ManySnapshots, 'context'>,
  options: FindOptions,
): Promise<{ readonly result: FindResult; readonly found: Map<string, FoundEntry[]> }> {
  const found = new Map<string, FoundEntry[]>();
  const announced = new Map<string, number>();
  let current: FoundEntry[] = [];
  const result = await findEntries(context, options, {
    begin: ({ id }, hits) => {
      current = [];
      found.set(id, current);
      announced.set(id, hits);
    },
    visit: (entry) => current.push(entry),
  });
  for (const [id, entries] of found) expect(entries).toHaveLength(announced.get(id)!);
  return { result, found };
}

function matches(pattern: string, path: ByteString, ignoresCase: boolean): boolean {
  const { nameRegex, pathRegex } = compilePathPattern(pattern, { ignoresCase });
  const text = ignoresCase ? lowerCaseOf(textOf(path)) : textOf(path);
  return nameRegex?.test(text.slice(text.lastIndexOf('/') + 1)) !== false && pathRegex?.test(text) !== false;
}

/** What `ls` lists and the patterns match, by snapshot. */
function expected(stage: ManySnapshots, patterns: readonly string[], ignoresCase: boolean): Map<string, ByteString[]> {
  const lists = stage.snapshots.map(({ id }) => {
    const paths = [...stage.contents.get(id)!.keys()];
    return [id, paths.filter((path) => patterns.some((pattern) => matches(pattern, path, ignoresCase)))] as const;
  });
  return new Map(lists.filter(([, paths]) => paths.length > 0));
}

describe('findEntries', () => {
  it('finds in each snapshot what its list has, and reads each tree once', async () => {
    const stage = await makeManySnapshots(21);
    const treeCount = distinctTrees(stage).size;
    const sets = [
      ['file-1*'],
      ['*'],
      ['dir-*/file-*', '*\xff*'],
      ['**/dir-1/**'],
      [`${stage.source}/tree/*`],
      ['tree/dir-*'],
      ['DIR-*', 'File-2?'],
      ['nothing-like-this'],
    ];
    let hitCount = 0;
    for (const patterns of sets) {
      for (const ignoresCase of [false, true]) {
        const { result, found } = await find(stage, { patterns, ignoresCase });
        const paths = new Map([...found].map(([id, entries]) => [id, entries.map(({ path }) => path)]));
        expect(paths).toEqual(expected(stage, patterns, ignoresCase));
        for (const [id, entries] of found)
          for (const { path, entry } of entries)
            expect(entry).toEqual({ ...stage.contents.get(id)!.get(path), chunkIds: new Uint8Array() });
        hitCount += result.hits;
        expect(result.unreadableTrees).toBe(0);
        if (patterns.every((pattern) => !pattern.includes('/'))) expect(result.treesRead).toBe(treeCount);
      }
    }
    expect(hitCount).toBeGreaterThan(1000);
    // An absolute pattern reads only the directories on its way.
    const { result } = await find(stage, { patterns: [`${stage.source}/*`] });
    expect(result.treesRead).toBeLessThanOrEqual(2 * stage.snapshots.length);
  });

  it('gives the newest version of each path of each host', async () => {
    const stage = await makeManySnapshots(22);
    const { found } = await find(stage, { patterns: ['file-*', 'dir-*'], newestOnly: true });
    const newest = new Map<string, string>();
    for (const { id, snapshot } of stage.snapshots)
      for (const path of expected(stage, ['file-*', 'dir-*'], false).get(id) ?? [])
        newest.set(`${snapshot.hostname} ${path}`, id);
    const hostOf = new Map(stage.snapshots.map(({ id, snapshot }) => [id, snapshot.hostname]));
    const given = [...found].flatMap(([id, entries]) =>
      entries.map(({ path }) => [`${hostOf.get(id)!} ${path}`, id] as const),
    );
    expect(new Map(given)).toEqual(newest);
    expect(given).toHaveLength(newest.size);
    const ids = stage.snapshots.map(({ id }) => id);
    expect([...found.keys()]).toEqual(ids.filter((id) => found.has(id)).toReversed());
  });

  it('searches only the snapshots and directories that were named', async () => {
    const stage = await makeManySnapshots(23, { snapshotCount: 4, fileCount: 25 });
    const [first, , third] = stage.snapshots;
    const { found } = await find(stage, {
      patterns: ['*'],
      selectors: [`${third!.id.slice(0, 12)}:source/tree`, first!.id],
    });
    expect([...found.keys()]).toEqual([first!.id, third!.id]);
    const inside = [...stage.contents.get(third!.id)!.keys()].filter((path) =>
      path.startsWith(`${stage.source}/tree/`),
    );
    expect(found.get(third!.id)!.map(({ path }) => path)).toEqual(inside);
    const { result } = await find(stage, { patterns: ['*'], filter: { hosts: ['two'] } });
    expect(result.snapshotCount).toBe(2);
  });

  it('refuses malformed patterns before anything is opened', async () => {
    const { context } = await makeManySnapshots(24, { snapshotCount: 1, fileCount: 5 });
    for (const patterns of [[], [''], ['a', '['], ['x/[a']])
      await expect(findEntries(context, { patterns }, { begin: () => {}, visit: () => {} })).rejects.toThrow(
        UsageError,
      );
  });
});

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CancelledError } from '../../src/core/errors.ts';
import { textOf } from '../../src/core/util/byte-string.ts';
import { answerSearch } from '../../src/ui/server/answers/search.ts';
import { CurrentRepository } from '../../src/ui/server/current-repository.ts';
import { makeManySnapshots } from '../support/many-snapshots.ts';
import type { ManySnapshots } from '../support/many-snapshots.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { servePage } from './support.ts';

/** What the lists of all snapshots say about the paths that match, by path and host. */
function expectedRows({ snapshots, contents }: ManySnapshots, isMatch: (path: string) => boolean): unknown[] {
  const rows = new Map<string, Record<string, unknown>>();
  for (const { id, snapshot } of snapshots) {
    const { hostname: host, time } = snapshot;
    for (const [path, { type, sizeBytes }] of contents.get(id)!) {
      const text = textOf(path);
      if (!isMatch(text)) continue;
      const key = `${path}\0${host}`;
      const count = ((rows.get(key)?.['snapshots'] as number | undefined) ?? 0) + 1;
      const newest = snapshots.findLast((each) => each.snapshot.hostname === host)!;
      const isDeleted = !contents.get(newest.id)!.has(path);
      const size = type === 'file' ? { bytes: sizeBytes } : {};
      rows.set(key, { host, path: text, type, ...size, snapshot: id, time, snapshots: count, isDeleted });
    }
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).toLowerCase();

describe('the search of the page', () => {
  it('finds by path and host what the lists of all snapshots have', async () => {
    const stage = await makeManySnapshots(7, { snapshotCount: 6, fileCount: 30, changeCount: 8 });
    const page = await servePage(stage.context);
    const directory = `${stage.source}/tree`;
    const searches: [string, (path: string) => boolean][] = [
      ['file', (path) => nameOf(path).includes('file')],
      ['FILE-1', (path) => nameOf(path).includes('file-1')],
      ['?ile-*', (path) => /^.ile-/.test(nameOf(path))],
      ['*', () => true],
      [directory, (path) => path.startsWith(directory) && !path.slice(directory.length).includes('/')],
      ['nothing like this', () => false],
      ['\\', (path) => nameOf(path).includes('\\')],
    ];
    let deletedCount = 0;
    for (const [words, isMatch] of searches) {
      const expected = expectedRows(stage, isMatch);
      const { rows, ...counts } = await page.ask('search', { words });
      expect(
        rows.map((row) => ({ ...row, path: row.path.text })),
        words,
      ).toEqual(expected);
      expect(counts).toEqual({
        pathCount: expected.length,
        isCut: false,
        snapshotCount: stage.snapshots.length,
        unreadableCount: 0,
      });
      const deleted = await page.ask('search', { words, deleted: '1' });
      expect(deleted.rows, words).toEqual(rows.filter(({ isDeleted }) => isDeleted));
      deletedCount += deleted.rows.length;
    }
    expect(deletedCount).toBeGreaterThan(5);
  });

  it('takes a path for deleted if a later snapshot of the same paths lacks it, whatever others have', async () => {
    const { source, context, backup } = await makeTestRepository();
    for (const name of ['a', 'b']) mkdirSync(join(source, name));
    for (const name of ['a/old', 'a/both', 'b/left']) writeFileSync(join(source, name), name);
    const [a, b] = ['a', 'b'].map((name) => join(source, name));
    await backup({ sources: [b!], time: '2026-01-01T00:00:00Z' });
    await backup({ sources: [a!], time: '2026-01-02T00:00:00Z' });
    await backup({ sources: [a!, b!], time: '2026-01-03T00:00:00Z' });
    rmSync(join(source, 'a/old'));
    rmSync(join(source, 'b/left'));
    await backup({ sources: [a!, b!], time: '2026-01-04T00:00:00Z' });
    const { rows } = await (await servePage(context)).ask('search', { words: '[bol]*', deleted: '1' });
    expect(rows.map(({ path: { text }, time }) => [nameOf(text), time])).toEqual([
      ['old', '2026-01-03T00:00:00.000Z'],
      ['left', '2026-01-03T00:00:00.000Z'],
    ]);
  });

  it('shows a thousand paths, and says how many there are', async () => {
    const { source, context, backup } = await makeTestRepository();
    for (let number = 0; number < 1005; number += 1) writeFileSync(join(source, `many-${number}`), '');
    await backup();
    const { rows, pathCount } = await (await servePage(context)).ask('search', { words: 'many' });
    expect([rows.length, pathCount]).toEqual([1000, 1005]);
  });

  it('refuses no words and a malformed pattern, and ends when the question is taken back', async () => {
    const { context, backup } = await makeTestRepository();
    await backup();
    const page = await servePage(context);
    await expect(page.ask('search', { words: '[' })).rejects.toThrow(/400: .*\[/);
    await expect(page.ask('search')).rejects.toThrow('400: there are no words');
    expect(page.failures).toEqual([]);
    const repository = new CurrentRepository(context);
    const answer = answerSearch(repository, new URLSearchParams({ words: 'x' }), AbortSignal.abort());
    await expect(answer).rejects.toThrow(CancelledError);
    await repository.close();
  });
});

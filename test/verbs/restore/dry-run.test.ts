import { linkSync, mkdirSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import type { OverwriteMode } from '../../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../../support/compare-trees.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

const MODES: readonly OverwriteMode[] = ['never', 'if-changed', 'if-newer', 'always'];

it.each(MODES)(
  'says what the restore behind it does at a target that has much already, --overwrite %s',
  async (mode) => {
    const repository = await makeTestRepository();
    const { source } = repository;
    mkdirSync(join(source, 'sub', 'new', 'deep'), { recursive: true });
    mkdirSync(join(source, 'taken'));
    const names = [
      'same',
      'older',
      'newer',
      'gone',
      'sub/a',
      'sub/new/b',
      'sub/new/deep/c',
      'taken/d',
      'file-or-directory',
    ];
    for (const name of names) writeFileSync(join(source, name), name);
    linkSync(join(source, 'same'), join(source, 'same-link'));
    for (const name of ['link', 'sub/link', 'sub/new/link']) symlinkSync('same', join(source, name));
    await repository.backup();
    const { target } = await repository.restore();
    const at = (name: string): string => join(target, 'source', name);
    for (const [name, time] of [
      ['older', 1000],
      ['newer', 4e9],
    ] as const) {
      writeFileSync(at(name), 'changed');
      utimesSync(at(name), time, time);
    }
    for (const name of ['gone', 'sub/link', 'file-or-directory']) unlinkSync(at(name));
    for (const name of ['sub/new', 'taken']) rmSync(at(name), { recursive: true });
    symlinkSync('elsewhere', at('sub/link'));
    symlinkSync('sub', at('taken'));
    mkdirSync(at('file-or-directory'));

    const before = describeTree(target);
    const said = await repository.restore({ target, overwrite: mode, dryRun: true });
    expect(diffTrees(before, target)).toEqual([]);
    const done = await repository.restore({ target, overwrite: mode });
    const tallies = (result: typeof done): unknown => ({
      ...result,
      blocksRead: 0,
      blocksNeeded: 0,
      problems: result.problems.map(({ path }) => path),
    });
    expect(tallies(said)).toEqual(tallies(done));
    expect(done.problems.map(({ path }) => path)).toContain('source/taken');
    expect(done.filesRestored).toBeGreaterThan(2);
  },
);

import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CancelledError, CorruptDataError } from '../../../src/core/errors.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { PackReads, SINGLE_CHUNKS, contentReads } from '../../support/pack-reads.ts';
import { makeSaved, write } from '../../support/saved-target.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';

describe('restore --delete', () => {
  it('deletes only what the patterns include', async () => {
    const { target, restore: restoreTo } = await makeSaved();
    for (const name of ['x.log', 'sub/y.log', 'sub/z.txt', 'new/w.log']) write(join(target, name), name);
    await restoreTo({ selector: 'latest:source', target, delete: true, include: ['sub'] });
    expect(existsSync(join(target, 'x.log'))).toBe(true);
    expect(readdirSync(join(target, 'sub')).toSorted()).toEqual(['b', 'deep']);
    expect(existsSync(join(target, 'new/w.log'))).toBe(true);
  });

  it('keeps what differs if --overwrite says so', async () => {
    const { target, restore: restoreTo } = await makeSaved();
    writeFileSync(join(target, 'a'), 'mine');
    rmSync(join(target, 'sub'), { recursive: true });
    writeFileSync(join(target, 'sub'), 'mine');
    write(join(target, 'more/x'), '');
    const result = await restoreTo({ selector: 'latest:source', target, delete: true, overwrite: 'never' });
    expect(result.problems.map(({ path }) => path).toSorted()).toEqual(['a', 'sub']);
    expect(readdirSync(target).toSorted()).toEqual(['a', 'other', 'sub']);
    expect(lstatSync(join(target, 'sub')).isFile()).toBe(true);
  });

  it('deletes nothing in a directory whose tree cannot be read, and gives back what was in its way', async () => {
    const { target, source, context } = await makeSaved({ storeSizes: SINGLE_CHUNKS });
    rmSync(join(target, 'sub', 'deep'), { recursive: true });
    writeFileSync(join(target, 'sub', 'deep'), 'precious');
    write(join(target, 'sub', 'extra'), 'extra');
    write(join(target, 'other', 'extra'), 'extra');
    // In the order of the first walk: the root tree, `source`, `other`, `sub` and `deep`.
    const trees: string[] = [];
    const backend = new PackReads(context.backend, ({ kind, at }) => {
      if (kind !== 'tree') return;
      if (!trees.includes(at)) trees.push(at);
      if ([2, 4].includes(trees.indexOf(at))) throw new CorruptDataError('damaged');
    });
    const result = await restore({ ...context, backend }, { selector: 'latest:source', target, delete: true });
    expect(trees).toHaveLength(5);
    expect(result.problems.map(({ path, code }) => `${path} ${code}`)).toEqual([
      'other CORRUPT_DATA',
      'sub/deep CORRUPT_DATA',
    ]);
    expect(lstatSync(join(target, 'sub', 'deep')).isFile()).toBe(true);
    expect(readdirSync(join(target, 'sub')).toSorted()).toEqual(['b', 'deep']);
    expect(readdirSync(join(target, 'other')).toSorted()).toEqual(['d', 'extra']);
    expect(existsSync(join(source, 'a'))).toBe(true);
  });

  it('deletes nothing if it is interrupted, and gives back what was in the way', async () => {
    const { target, context } = await makeSaved();
    write(join(target, 'extra'), 'extra');
    rmSync(join(target, 'a'));
    write(join(target, 'a', 'precious'), '');
    rmSync(join(target, 'sub'), { recursive: true });
    writeFileSync(join(target, 'sub'), 'precious');
    const backend = contentReads(context.backend, () => {
      throw new CancelledError('SIGINT');
    });
    const restoring = restore({ ...context, backend }, { selector: 'latest:source', target, delete: true });
    await expect(restoring).rejects.toThrow(CancelledError);
    expect(readdirSync(target).toSorted()).toEqual(['a', 'extra', 'other', 'sub']);
    expect(readdirSync(join(target, 'a'))).toEqual(['precious']);
    expect(readFileSync(join(target, 'sub'), 'utf8')).toBe('precious');
  });

  it('says where it keeps a directory that it could not delete', async () => {
    const { target, restore: restoreTo } = await makeSaved();
    rmSync(join(target, 'a'));
    const earlier = '.ldm-set-aside-1_00000000_00000000_0_1';
    write(join(target, 'a', earlier), 'precious');
    const { problems, deletesFailed } = await restoreTo({ selector: 'latest:source', target, delete: true });
    expect(lstatSync(join(target, 'a')).isFile()).toBe(true);
    const [kept, ...others] = readdirSync(target).filter((name) => name.startsWith('.ldm-set-aside-'));
    expect(others).toEqual([]);
    expect(readFileSync(join(target, kept!, earlier), 'utf8')).toBe('precious');
    expect(deletesFailed).toBe(1);
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toContain(
      `a: what was in its place is kept as ${kept}`,
    );
  });

  it('works in directories that an ordinary user may not write to, and restores their time', async () => {
    const { target, source, directory, backup, restore: restoreTo } = await makeSaved();
    chmodSync(join(source, 'sub'), 0o555);
    utimesSync(join(source, 'sub'), 1000, 2000);
    await backup();
    await restoreTo({ selector: 'latest:source', target, delete: true });
    chmodSync(join(target, 'sub'), 0o755);
    write(join(target, 'sub', 'extra'), '');
    chmodSync(join(target, 'sub'), 0o555);
    giveToNobody(directory);
    const { problems } = await withoutPrivileges(async () =>
      restoreTo({ selector: 'latest:source', target, delete: true }),
    );
    expect(problems).toEqual([]);
    expect(readdirSync(join(target, 'sub')).toSorted()).toEqual(['b', 'deep']);
    expect(lstatSync(join(target, 'sub'))).toMatchObject({ mode: 0o40555, mtimeMs: 2_000_000 });
  });
});

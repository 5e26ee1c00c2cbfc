import { chmodSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { backup } from '../../../src/verbs/backup/backup.ts';
import type { BackupOptions } from '../../../src/verbs/backup/backup.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { filesOf, letSettle, makeTestRepository } from '../../support/test-repository.ts';
import { writeFiles } from './source-tree.ts';

describe('--skip-if-unchanged', () => {
  it('makes no snapshot only if the last one of the same paths is the same', async () => {
    const repository = await makeTestRepository();
    const [path] = writeFiles(repository.source, 'a', 'sub/b');
    const skipping = { skipIfUnchanged: true };
    const first = await repository.backup(skipping);
    expect(first.snapshotId).toBeDefined();
    expect(await repository.backup(skipping)).toMatchObject({ snapshotId: undefined, parentId: first.snapshotId });
    expect((await repository.backup({ ...skipping, sources: ['source/sub'] })).snapshotId).toBeDefined();
    expect((await repository.backup({ ...skipping, hostname: 'other' })).snapshotId).toBeDefined();
    chmodSync(path!, 0o640);
    const changed = await repository.backup(skipping);
    expect(changed.snapshotId).toBeDefined();
    expect((await repository.backup(skipping)).snapshotId).toBeUndefined();
    expect((await repository.backup()).snapshotId).toBeDefined();
    expect(filesOf(repository, 'snapshots')).toHaveLength(5);
    await repository.expectClean();
  });

  it('makes one if the last one is deleted meanwhile', async () => {
    const repository = await makeTestRepository();
    writeFiles(repository.source, 'a');
    const { snapshotId } = await repository.backup();
    let deleting: Promise<unknown> | undefined;
    const onEntry = (): void => {
      deleting ??= deleteSnapshots(repository.context, { selectors: [snapshotId!], reclaim: false });
    };
    const awaitOutput = (): Promise<void> | undefined => deleting?.then(() => undefined);
    const options = { sources: [repository.source], cwd: '/', skipIfUnchanged: true, onEntry };
    const result = await backup({ ...repository.context, awaitOutput }, options);
    expect(deleting).toBeDefined();
    expect(result.snapshotId).toBeDefined();
    expect(filesOf(repository, 'snapshots')).toHaveLength(1);
  });
});

describe('changes that say nothing', () => {
  it('are ignored on demand', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    const [path] = writeFiles(source, 'a');
    const mtime = new Date(2001, 1, 1);
    utimesSync(path!, mtime, mtime);
    await letSettle(path!);
    const readFiles = async (options: Partial<BackupOptions>): Promise<number> =>
      (await repository.backup(options)).summary.filesChanged;
    await repository.backup();
    // The same size and modification time: only a backup that reads the file notices.
    writeFileSync(path!, 'CONTENT OF A');
    utimesSync(path!, mtime, mtime);
    expect(await readFiles({ ignoreCtime: true, dryRun: true })).toBe(0);
    expect(await readFiles({ dryRun: true })).toBe(1);
    writeFileSync(join(source, 'b'), 'content of A');
    utimesSync(join(source, 'b'), mtime, mtime);
    renameSync(join(source, 'b'), path!);
    expect(await readFiles({ ignoreCtime: true, dryRun: true })).toBe(1);
    expect(await readFiles({ ignoreInode: true, dryRun: true })).toBe(0);
    utimesSync(path!, mtime, new Date(2002, 1, 1));
    expect(await readFiles({ ignoreInode: true, dryRun: true })).toBe(1);
    await repository.backup();
    await repository.expectRestored();
  });
});

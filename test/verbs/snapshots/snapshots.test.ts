import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import type { ListSnapshotsOptions } from '../../../src/verbs/snapshots/snapshots.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { shownNotice } from '../../support/shown-notice.ts';

/** Three snapshots: of source by `one` with tag x, of source by `two` with x and y, of source and other by `one`. */
async function makeThree(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  mkdirSync(join(repository.directory, 'other'));
  writeFileSync(join(repository.source, 'a'), 'a');
  await repository.backup({ hostname: 'one', tags: ['x'], time: '2020-01-01T00:00:00Z' });
  await repository.backup({ hostname: 'two', tags: ['x', 'y'], time: '2020-01-02T00:00:00Z' });
  await repository.backup({ hostname: 'one', sources: ['source', 'other'], time: '2020-01-03T00:00:00Z' });
  return repository;
}

describe('listSnapshots', () => {
  it('gives all, oldest first, or those that fit everything that is asked', async () => {
    const repository = await makeThree();
    const days = async (options?: ListSnapshotsOptions): Promise<string[]> =>
      (await listSnapshots(repository.context, options)).map(({ snapshot }) => snapshot.time.slice(9, 10));
    const paths = ['source', 'other'].map((name) => join(repository.directory, name));
    expect(await days()).toEqual(['1', '2', '3']);
    expect(await days({ hosts: ['one'] })).toEqual(['1', '3']);
    expect(await days({ tags: [['x']] })).toEqual(['1', '2']);
    expect(await days({ tags: [['x', 'y']] })).toEqual(['2']);
    expect(await days({ paths: [paths[0]!] })).toEqual(['1', '2', '3']);
    expect(await days({ paths })).toEqual(['3']);
    expect(await days({ hosts: ['two'], paths })).toEqual([]);
    expect(await days({ hosts: ['two', 'one'] })).toEqual(['1', '2', '3']);
    expect(await days({ tags: [['y'], ['x', 'z']] })).toEqual(['2']);
    expect(await days({ tags: [['y'], ['x']] })).toEqual(['1', '2']);
    expect(await days({ since: '2020-01-02T00:00:00Z' })).toEqual(['2', '3']);
    expect(await days({ before: '2020-01-02T00:00:00Z' })).toEqual(['1']);
    expect(await days({ since: '2020-01-02T00:00:00+01:00', before: '2020-01-02T00:00:01Z' })).toEqual(['2']);
    expect(await days({ deleted: true })).toEqual([]);
  });

  it('tells deleted ones apart', async () => {
    const { context } = await makeThree();
    const [first] = await listSnapshots(context);
    await deleteSnapshots(context, { selectors: [first!.id], reclaim: false });
    expect(await listSnapshots(context)).toHaveLength(2);
    expect((await listSnapshots(context, { deleted: true })).map(({ id }) => id)).toEqual([first!.id]);
  });

  it('warns of dates in the future', async () => {
    const repository = await makeThree();
    await listSnapshots(repository.context);
    expect(repository.notices).toEqual([]);
    const { snapshotId } = await repository.backup({ time: '2990-01-01T00:00:00Z' });
    await listSnapshots(repository.context);
    const message = expect.stringMatching(new RegExp(`${snapshotId!.slice(0, 12)} of 29.* in the future`)) as string;
    expect(repository.notices.map(shownNotice)).toEqual([{ kind: 'warning', message }]);
  });

  it('warns of a damaged manifest, and gives the snapshot by its copy; of one without a copy, and gives the others', async () => {
    const { context, directory, notices } = await makeThree();
    const [first] = await listSnapshots(context);
    writeFileSync(join(directory, 'repository', 'snapshots', first!.id), '');
    expect(await listSnapshots(context)).toHaveLength(3);
    const warning = { kind: 'warning', message: expect.stringContaining(first!.id) as string };
    expect(notices.map(shownNotice)).toEqual([warning]);
    rmSync(join(directory, 'repository', 'manifests.bak', first!.id));
    expect(await listSnapshots(context)).toHaveLength(2);
    expect(notices.map(shownNotice)).toEqual([warning, warning]);
  });
});

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { hintFor } from '../../../src/console/advice.ts';
import type { LdmError } from '../../../src/core/errors.ts';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { readSnapshots } from '../../../src/core/repository/read-snapshots.ts';
import type { ReadSnapshots } from '../../../src/core/repository/read-snapshots.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { plainPlace } from '../../support/plain-place.ts';

describe('readSnapshots', () => {
  interface Three {
    readonly repository: TestRepository;
    /** By their times. */
    readonly made: readonly string[];
    readonly read: () => Promise<ReadSnapshots>;
    readonly pathOf: (kind: 'snapshots' | 'manifests.bak', id: string) => string;
  }

  async function makeThree(): Promise<Three> {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'a'), 'a');
    const made: string[] = [];
    for (const day of [2, 3, 1])
      made[day - 1] = (await repository.backup({ time: `2020-01-0${day}T00:00:00Z` })).snapshotId!;
    return {
      repository,
      made,
      read: async () => await readSnapshots(plainPlace(repository.context.backend)),
      pathOf: (kind, id) => join(repository.directory, 'repository', kind, id),
    };
  }

  it('lists by time, whatever the order of making', async () => {
    const { made, read } = await makeThree();
    expect((await read()).listings.map(({ id }) => id)).toEqual(made);
  });

  it.each([0, 1, 2])('reads the copy of a damaged manifest (%d), so that latest means what it meant', async (index) => {
    const { repository, made, read, pathOf } = await makeThree();
    const id = made[index]!;
    writeFileSync(pathOf('snapshots', id), 'damaged');
    const found = await read();
    expect(found.listings.map((listing) => listing.id)).toEqual(made);
    expect([...found.copied.keys()]).toEqual([id]);
    expect(found.damaged.size).toBe(0);
    expect((await repository.restore({ selector: 'latest' })).snapshotId).toBe(made[2]);
    const { snapshots: deleted } = await deleteSnapshots(repository.context, { selectors: [id], reclaim: false });
    expect(deleted.map((listing) => listing.id)).toEqual([id]);
    const left = await read();
    expect(left.listings.map((listing) => listing.id)).toEqual(made.filter((each) => each !== id));
    expect(left.damaged.size).toBe(0);
  });

  const damages: [string, (three: Three, id: string) => void][] = [
    [
      'damaged, and so is its copy',
      ({ pathOf }, id) => {
        for (const kind of ['snapshots', 'manifests.bak'] as const) writeFileSync(pathOf(kind, id), 'damaged');
      },
    ],
    ['gone, and has a copy', ({ pathOf }, id) => rmSync(pathOf('snapshots', id))],
  ];

  it.each(damages)('a manifest that is %s is set apart, and latest is refused', async (_, damage) => {
    const three = await makeThree();
    const { repository, made, read } = three;
    damage(three, made[2]!);
    const { listings, damaged } = await read();
    expect(listings.map(({ id }) => id)).toEqual(made.slice(0, 2));
    expect([...damaged.keys()]).toEqual([made[2]]);
    const { context } = repository;
    for (const selector of ['latest', 'latest~1', made[2]!]) {
      const list = listFiles(context, { selector, recursive: false }, () => undefined);
      const endings = [list, repository.restore({ selector }), deleteSnapshots(context, { selectors: [selector] })];
      for (const ending of await Promise.allSettled(endings)) {
        expect(ending).toMatchObject({ status: 'rejected', reason: { code: 'CORRUPT_DATA' } });
        expect(hintFor((ending as PromiseRejectedResult).reason as LdmError)).toMatch(/ldm check.*ldm repair/);
      }
    }
    expect((await repository.restore({ selector: made[1]! })).exitCode).toBe(0);
    expect((await read()).listings).toHaveLength(2);
  });

  it('what only a checkpoint knows is lost too', async () => {
    const { repository, made, pathOf } = await makeThree();
    await compact(repository.context);
    expect(filesOf(repository, 'filter')).not.toEqual([]);
    for (const kind of ['snapshots', 'manifests.bak'] as const) rmSync(pathOf(kind, made[2]!));
    await expect(repository.restore()).rejects.toThrow(CorruptDataError);
    await expect(deleteSnapshots(repository.context, { selectors: ['latest'] })).rejects.toThrow(CorruptDataError);
    expect(filesOf(repository, 'snapshots')).toHaveLength(2);
    expect((await repository.restore({ selector: made[1]! })).exitCode).toBe(0);
  });

  it('a deleted snapshot is not lost, though its copy is there', async () => {
    const { repository, made, read } = await makeThree();
    await deleteSnapshots(repository.context, { selectors: ['latest'], reclaim: false });
    const { listings, damaged } = await read();
    expect(listings.map(({ id }) => id)).toEqual(made.slice(0, 2));
    expect(damaged.size).toBe(0);
    expect((await repository.restore()).snapshotId).toBe(made[1]);
  });
});

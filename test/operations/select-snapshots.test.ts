import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CorruptDataError, SnapshotNotFoundError, UsageError } from '../../src/errors.ts';
import type { Snapshot } from '../../src/format/snapshot.ts';
import { compact } from '../../src/operations/compact.ts';
import { deleteSnapshots } from '../../src/operations/delete.ts';
import { listFiles } from '../../src/operations/ls.ts';
import { assertCountable, findSnapshot, parseSelector, readSnapshots } from '../../src/operations/select-snapshots.ts';
import type { ReadSnapshots } from '../../src/operations/select-snapshots.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const ids = ['aa11', 'aa22', 'bb33'].map((start) => start.padEnd(64, '0'));
const snapshots: ReadSnapshots = {
  deleted: false,
  listings: ids.map((id) => ({ id, snapshot: {} as Snapshot })),
  copied: new Map(),
  damaged: new Map(),
};
const damagedId = 'cc44'.padEnd(64, '0');
const withDamaged: ReadSnapshots = { ...snapshots, damaged: new Map([[damagedId, 'the manifest is damaged']]) };

describe('parseSelector', () => {
  it.each([
    ['latest', 'latest', ''],
    ['latest:', 'latest', ''],
    ['1a2b:some/path', '1a2b', 'some/path'],
    ['latest~2:a:b', 'latest~2', 'a:b'],
    ['latest:/absolute', 'latest', '/absolute'],
  ])('%s', (text, name, path) => {
    expect(parseSelector(text)).toEqual({ name, path });
  });
});

describe('findSnapshot', () => {
  it.each([
    ['aa1', 0],
    ['aa22', 1],
    ['b', 2],
    [ids[1]!, 1],
    ['latest', 2],
    ['latest~0', 2],
    ['latest~2', 0],
  ])('%s', (name, index) => {
    expect(findSnapshot(snapshots, name).id).toBe(ids[index]);
  });

  it.each([
    ['several fit', 'aa', SnapshotNotFoundError, /aa1100000000, aa2200000000/],
    ['none fits', 'dd', SnapshotNotFoundError, /no snapshot begins with dd/],
    ['there are not so many', 'latest~3', SnapshotNotFoundError, /the repository has 3/],
    ['it is longer than an id', `${ids[0]}0`, UsageError, /does not name/],
    ['it is empty', '', UsageError, /does not name/],
    ['it has capitals', 'AA11', UsageError, /does not name/],
    ['it counts backwards', 'latest~-1', UsageError, /does not name/],
  ])('fails with a reason when %s', (_, name, kind, message) => {
    expect(() => findSnapshot(snapshots, name)).toThrow(kind);
    expect(() => findSnapshot(snapshots, name)).toThrow(message);
  });

  it('fails where the snapshot is damaged', () => {
    expect(() => findSnapshot(withDamaged, 'cc')).toThrow(CorruptDataError);
    expect(() => findSnapshot(withDamaged, 'cc')).toThrow(/manifest is damaged/);
    expect(findSnapshot(withDamaged, 'bb').id).toBe(ids[2]);
  });

  it.each(['latest', 'latest~0', 'latest~2'])(
    '%s is refused while one cannot be read: that one may be the latest, and another must not be taken for it',
    (name) => {
      expect(() => findSnapshot(withDamaged, name)).toThrow(CorruptDataError);
      expect(() => findSnapshot(withDamaged, name)).toThrow(/manifest is damaged/);
      expect(() => assertCountable([ids[0]!, name], [damagedId])).toThrow(CorruptDataError);
      expect(() => assertCountable([ids[0]!, name], [])).not.toThrow();
      expect(() => assertCountable([ids[0]!], [damagedId])).not.toThrow();
    },
  );

  it('a damaged one makes a beginning that fits it ambiguous', () => {
    const mixed = { ...snapshots, damaged: new Map([[ids[0]!.replace('aa11', 'aa12'), 'damaged']]) };
    expect(() => findSnapshot(mixed, 'aa1')).toThrow(SnapshotNotFoundError);
  });
});

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
      read: async () => await readSnapshots(repository.context.backend),
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
        expect(ending).toMatchObject({
          status: 'rejected',
          reason: { code: 'CORRUPT_DATA', hint: expect.stringMatching(/ldm check.*ldm repair/) as string },
        });
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

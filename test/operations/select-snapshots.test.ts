import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CorruptDataError, SnapshotNotFoundError, UsageError } from '../../src/errors.ts';
import type { Snapshot } from '../../src/format/snapshot.ts';
import { findSnapshot, parseSelector, readSnapshots } from '../../src/operations/select-snapshots.ts';
import type { ReadSnapshots } from '../../src/operations/select-snapshots.ts';
import { makeTestRepository } from '../support/test-repository.ts';

const ids = ['aa11', 'aa22', 'bb33'].map((start) => start.padEnd(64, '0'));
const snapshots: ReadSnapshots = {
  listings: ids.map((id) => ({ id, snapshot: {} as Snapshot })),
  damaged: new Map([['cc44'.padEnd(64, '0'), 'the manifest is damaged']]),
};

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
    ['it is damaged', 'cc', CorruptDataError, /manifest is damaged/],
    ['it is longer than an id', `${ids[0]}0`, UsageError, /does not name/],
    ['it is empty', '', UsageError, /does not name/],
    ['it has capitals', 'AA11', UsageError, /does not name/],
    ['it counts backwards', 'latest~-1', UsageError, /does not name/],
  ])('fails with a reason when %s', (_, name, kind, message) => {
    expect(() => findSnapshot(snapshots, name)).toThrow(kind);
    expect(() => findSnapshot(snapshots, name)).toThrow(message);
  });

  it('a damaged one makes a beginning that fits it ambiguous', () => {
    const mixed = { ...snapshots, damaged: new Map([[ids[0]!.replace('aa11', 'aa12'), 'damaged']]) };
    expect(() => findSnapshot(mixed, 'aa1')).toThrow(SnapshotNotFoundError);
  });
});

describe('readSnapshots', () => {
  it('lists by time, whatever the order of making, and what is damaged apart', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'a'), 'a');
    const made: (string | undefined)[] = [];
    for (const time of ['2020-01-02T00:00:00Z', '2020-01-03T00:00:00Z', '2020-01-01T00:00:00Z']) {
      made.push((await repository.backup({ time })).snapshotId);
    }
    const read = async (): Promise<ReadSnapshots> => await readSnapshots(repository.context.backend);
    expect((await read()).listings.map(({ id }) => id)).toEqual([made[2], made[0], made[1]]);
    writeFileSync(join(repository.directory, 'repository', 'snapshots', made[0]!), 'damaged');
    const { listings, damaged } = await read();
    expect(listings.map(({ id }) => id)).toEqual([made[2], made[1]]);
    expect([...damaged.keys()]).toEqual([made[0]]);
  });
});

import { describe, expect, it } from 'vitest';

import { CorruptDataError, RefusedError, SnapshotNotFoundError, UsageError } from '../../../src/core/errors.ts';
import type { Snapshot } from '../../../src/core/format/snapshot.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import type { ReadSnapshots, SnapshotListing } from '../../../src/core/repository/read-snapshots.ts';
import { assertCountable, parseSelector, selectSnapshot } from '../../../src/core/snapshots/select-snapshots.ts';
import type { SelectionOptions } from '../../../src/core/snapshots/select-snapshots.ts';
import type { SnapshotFilter } from '../../../src/core/snapshots/snapshot-filter.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { shownNotice } from '../../support/shown-notice.ts';

const ids = ['aaaa11', 'aaaa22', 'bbbb33'].map((start) => start.padEnd(64, '0'));

/** Only with what a selection looks at. */
function listing(id: string, time: string, rest: Partial<Snapshot> = {}): SnapshotListing {
  const snapshot = { hostname: 'h', paths: ['/p'], tags: [], time, ...rest } as unknown as Snapshot;
  return { id: id.padEnd(64, '0'), snapshot };
}

const snapshots: ReadSnapshots = {
  deleted: false,
  listings: ids.map((id, index) => listing(id, `2020-01-0${index + 1}T12:00:00Z`)),
  copied: new Map(),
  damaged: new Map(),
  hasMoved: false,
};
const damagedId = 'cccc44'.padEnd(64, '0');
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

interface Selected {
  readonly id: string;
  readonly notices: readonly ReturnType<typeof shownNotice>[];
}

function select(from: ReadSnapshots, name: string, options?: SelectionOptions): Selected {
  const notices: Notice[] = [];
  const context = { onNotice: (notice: Notice) => void notices.push(notice) } as unknown as OperationContext;
  const { id } = selectSnapshot(context, from, name, options);
  return { id, notices: notices.map(shownNotice) };
}

describe('selectSnapshot', () => {
  it.each([
    ['aaaa1', 0],
    ['aaaa22', 1],
    ['bbbb', 2],
    [ids[1]!, 1],
    ['latest', 2],
    ['latest~0', 2],
    ['latest~2', 0],
  ])('%s', (name, index) => {
    expect(select(snapshots, name)).toEqual({ id: ids[index], notices: [] });
  });

  it.each([
    ['several fit', 'aaaa', SnapshotNotFoundError, /aaaa11000000 of 2020-01-01 .*, aaaa22000000 of 2020-01-02 /],
    ['none fits', 'dddd', SnapshotNotFoundError, /no snapshot id begins with dddd/],
    [
      'there are not so many',
      'latest~3',
      SnapshotNotFoundError,
      /^latest~3 does not exist: there are only 3 snapshots$/,
    ],
    ['it is too short', 'bbb', UsageError, /does not name/],
    ['it is longer than an id', `${ids[0]}0`, UsageError, /does not name/],
    ['it is empty', '', UsageError, /does not name/],
    ['it has capitals', 'AAAA11', UsageError, /does not name/],
    ['it counts backwards', 'latest~-1', UsageError, /does not name/],
  ])('fails with a reason when %s', (_, name, kind, message) => {
    expect(() => select(snapshots, name)).toThrow(kind);
    expect(() => select(snapshots, name)).toThrow(message);
  });

  it('fails where the snapshot is damaged', () => {
    expect(() => select(withDamaged, 'cccc')).toThrow(CorruptDataError);
    expect(() => select(withDamaged, 'cccc')).toThrow(/manifest is damaged/);
    expect(select(withDamaged, 'bbbb').id).toBe(ids[2]);
  });

  it.each(['latest', 'latest~0', 'latest~2'])(
    '%s is refused while one cannot be read: that one may be the latest, and another must not be taken for it',
    (name) => {
      expect(() => select(withDamaged, name)).toThrow(CorruptDataError);
      expect(() => select(withDamaged, name)).toThrow(/manifest is damaged/);
      expect(() => assertCountable([ids[0]!, name], [damagedId])).toThrow(CorruptDataError);
      expect(() => assertCountable([ids[0]!, name], [])).not.toThrow();
      expect(() => assertCountable([ids[0]!], [damagedId])).not.toThrow();
    },
  );

  it('a damaged one makes a beginning that fits it ambiguous', () => {
    const mixed = { ...snapshots, damaged: new Map([[ids[0]!.replace('aaaa11', 'aaaa12'), 'damaged']]) };
    expect(() => select(mixed, 'aaaa1')).toThrow(SnapshotNotFoundError);
    expect(() => select(mixed, 'aaaa1')).toThrow(/aaaa11000000 of .*aaaa12000000 \(damaged\)/);
  });
});

describe('a selection with a filter', () => {
  const listings = [
    listing('aaaa', '2020-01-01T00:00:00Z', { hostname: 'one', tags: ['x'] }),
    listing('bbbb', '2020-01-02T00:00:00Z', { hostname: 'two', tags: ['x', 'y'] }),
    listing('cccc', '2020-01-03T00:00:00Z', { hostname: 'one', paths: ['/p', '/q'] as ByteString[] }),
    listing('dddd', '2020-01-04T00:00:00Z', { hostname: 'two', tags: ['y'] }),
  ];
  const mixed = { ...snapshots, listings };

  it.each<[string, SnapshotFilter, string]>([
    ['latest', { hosts: ['two'] }, 'dddd'],
    ['latest~1', { hosts: ['two'] }, 'bbbb'],
    ['latest', { hosts: ['one'], tags: [['x']] }, 'aaaa'],
    ['latest', { paths: ['/q'] }, 'cccc'],
    ['latest', { hosts: ['two'], tags: [['x', 'y']] }, 'bbbb'],
    ['latest', { hosts: ['two'], before: '2020-01-04T00:00:00Z' }, 'bbbb'],
    ['bbbb', { hosts: ['two'] }, 'bbbb'],
  ])('%s counts among those that match %j', (name, filter, expected) => {
    for (const isDeleting of [false, true]) {
      expect(select(mixed, name, { filter, isDeleting })).toEqual({ id: expected.padEnd(64, '0'), notices: [] });
    }
  });

  it('fails where nothing matches', () => {
    const filter = { hosts: ['three'] };
    expect(() => select(mixed, 'latest', { filter })).toThrow(
      /^latest does not exist: no snapshot is of the host three \(hosts: one, two\)$/,
    );
    expect(() => select(mixed, 'bbbb', { filter })).toThrow(/bbbb00000000 of .* does not match/);
    expect(() => select(mixed, 'bbbb', { filter })).toThrow(SnapshotNotFoundError);
  });

  it.each<[SnapshotFilter | undefined, number]>([
    [undefined, 3],
    [{}, 3],
    [{ hosts: ['one'] }, 2],
    [{ tags: [['x']] }, 2],
  ])('latest of %j is of several groups: a reader is told which it is, and a delete is refused', (filter, count) => {
    const { id, notices } = select(mixed, 'latest', { filter });
    const message = expect.stringMatching(new RegExp(`latest is ${id.slice(0, 12)} of .*${count} different`)) as string;
    expect(notices).toEqual([{ kind: 'note', message }]);
    const deleting = (): unknown => select(mixed, 'latest', { filter, isDeleting: true });
    expect(deleting).toThrow(RefusedError);
    expect(deleting).toThrow(/ambiguous.*one: \/p/);
    expect(select(mixed, 'aaaa', { filter, isDeleting: true }).notices).toEqual([]);
  });

  it('latest in the future is named in a warning, and a clock that is a little ahead is not', () => {
    const soon = listing('ffff', new Date(Date.now() + 60_000).toISOString());
    expect(select({ ...snapshots, listings: [soon] }, 'latest').notices).toEqual([]);
    const future = { ...snapshots, listings: [...snapshots.listings, soon, listing('eeee', '2990-01-01T00:00:00Z')] };
    for (const name of ['latest', 'latest~2']) {
      const message = expect.stringMatching(/eeee00000000 of (2989|2990).* in the future/) as string;
      expect(select(future, name).notices).toEqual([{ kind: 'warning', message }]);
    }
    expect(select(future, 'ffff').notices).toEqual([]);
  });
});

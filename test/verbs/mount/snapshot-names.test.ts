import { describe, expect, it } from 'vitest';

import { nameSnapshots } from '../../../src/verbs/mount/snapshot-names.ts';
import type { NamedSnapshot } from '../../../src/verbs/mount/snapshot-names.ts';
import type { SnapshotListing } from '../../../src/verbs/snapshots/snapshots.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { processorSecondsOf } from '../../support/processor-time.ts';

function listing(id: string, hostname: string, time: string, tags: readonly string[] = []): SnapshotListing {
  return { id: id.padEnd(64, '0'), snapshot: { hostname, time, tags } } as unknown as SnapshotListing;
}

/** Everything below a directory: ids of snapshots by their paths, and targets of links. */
function flatten(named: NamedSnapshot, path = ''): Record<string, string> {
  if (named.kind === 'snapshot') return { [path]: named.listing.id.replace(/0+$/, '') };
  if (named.kind === 'link') return { [path]: `-> ${named.target}` };
  return Object.assign({}, ...[...named.entries].map(([name, entry]) => flatten(entry, `${path}/${name}`)));
}

describe('the names of snapshots', () => {
  it('are unique, in the local time zone, and end with the newest', () => {
    const zone = process.env['TZ'];
    process.env['TZ'] = 'America/St_Johns';
    try {
      const names = nameSnapshots([
        listing('aaaaaaaa1', 'tower', '2026-01-31T02:00:00.000Z', ['daily', 'daily']),
        listing('aaaaaaaa2', 'web', '2026-01-31T02:00:00.900Z'),
        listing('bbbbbbbb', 'tower', '2026-07-01T02:00:00.000Z', ['a/b', '..', '']),
      ]);
      expect(flatten(names)).toEqual({
        '/ids/aaaaaaaa1': 'aaaaaaaa1',
        '/ids/aaaaaaaa2': 'aaaaaaaa2',
        '/ids/bbbbbbbb': 'bbbbbbbb',
        '/snapshots/2026-01-30T22:30:00-03:30': 'aaaaaaaa1',
        '/snapshots/2026-01-30T22:30:00-03:30-1': 'aaaaaaaa2',
        '/snapshots/2026-06-30T23:30:00-02:30': 'bbbbbbbb',
        '/snapshots/latest': '-> 2026-06-30T23:30:00-02:30',
        '/hosts/tower/2026-01-30T22:30:00-03:30': 'aaaaaaaa1',
        '/hosts/tower/2026-06-30T23:30:00-02:30': 'bbbbbbbb',
        '/hosts/tower/latest': '-> 2026-06-30T23:30:00-02:30',
        '/hosts/web/2026-01-30T22:30:00-03:30': 'aaaaaaaa2',
        '/hosts/web/latest': '-> 2026-01-30T22:30:00-03:30',
        '/tags/daily/2026-01-30T22:30:00-03:30': 'aaaaaaaa1',
        '/tags/daily/latest': '-> 2026-01-30T22:30:00-03:30',
        '/tags/a_b/2026-06-30T23:30:00-02:30': 'bbbbbbbb',
        '/tags/a_b/latest': '-> 2026-06-30T23:30:00-02:30',
        '/tags/_../2026-06-30T23:30:00-02:30': 'bbbbbbbb',
        '/tags/_../latest': '-> 2026-06-30T23:30:00-02:30',
        '/tags/_/2026-06-30T23:30:00-02:30': 'bbbbbbbb',
        '/tags/_/latest': '-> 2026-06-30T23:30:00-02:30',
        '/latest': '-> snapshots/latest',
      });
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it('are found at once for thousands of snapshots of one second', () => {
    const count = 6000;
    const listings = Array.from({ length: count }, (_, index) =>
      listing(index.toString(16).padStart(8, 'a'), 'tower', '2026-01-31T02:00:00.000Z'),
    );
    let entries: ReturnType<typeof nameSnapshots>['entries'] = new Map();
    const seconds = processorSecondsOf(() => ({ entries } = nameSnapshots(listings)));
    const snapshots = entries.get('snapshots' as ByteString);
    const names = snapshots?.kind === 'directory' ? [...snapshots.entries.keys()] : [];
    expect(names.slice(-2)).toEqual([expect.stringMatching(`-${count - 1}$`), 'latest']);
    expect(new Set(names).size).toBe(count + 1);
    // To try one number after the other would take much longer.
    expect(seconds).toBeLessThan(5);
  });

  it('of nothing are four empty directories', () => {
    const { entries } = nameSnapshots([]);
    expect([...entries.keys()]).toEqual(['hosts', 'ids', 'snapshots', 'tags']);
    expect(flatten({ kind: 'directory', entries })).toEqual({});
  });

  it('are file names that a system accepts, whatever hosts are called', () => {
    const { entries } = nameSnapshots([listing('1', `h\0/${'\u00e9'.repeat(300)}`, '2026-01-31T02:00:00.000Z')]);
    const hosts = entries.get('hosts' as ByteString);
    const [name] = hosts?.kind === 'directory' ? [...hosts.entries.keys()] : [];
    expect(name).toMatch(/^h__\u00c3\u00a9/);
    expect(name).toHaveLength(255);
  });
});

import { expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { formatZonedTime } from '../../../src/core/util/format-time.ts';
import { parsePathTemplate } from '../../../src/verbs/mount/path-templates.ts';
import { nameSnapshots } from '../../../src/verbs/mount/snapshot-names.ts';
import type { NamedSnapshot, SnapshotDirectory } from '../../../src/verbs/mount/snapshot-names.ts';
import type { SnapshotListing } from '../../../src/verbs/snapshots/snapshots.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';

const TIMES = ['2026-01-31T02:00:00.000Z', '2026-01-31T02:00:00.900Z', '2026-07-01T02:00:00.000Z'];
const [AT_FIRST, , AT_LAST] = TIMES.map((time) => formatZonedTime(time));

function listing(
  id: string,
  time: string,
  tags: readonly string[],
  hostname = 'tower',
  username = 'ada',
): SnapshotListing {
  return { id: id.padEnd(64, '0'), snapshot: { hostname, username, time, tags } } as unknown as SnapshotListing;
}

const LISTINGS = [
  listing('aaaaaaaa1', TIMES[0]!, ['daily', 'x']),
  listing('aaaaaaaa2', TIMES[1]!, ['daily'], 'we/b', ''),
  listing('bbbbbbbb', TIMES[2]!, []),
];

function named(...templates: readonly string[]): SnapshotDirectory {
  return nameSnapshots(
    LISTINGS,
    templates.map((text) => parsePathTemplate(text)),
  );
}

/** Everything below a directory: ids of snapshots by their paths, targets of links, and `/` for an empty directory. */
function flatten(entry: NamedSnapshot, path = ''): Record<string, string> {
  if (entry.kind === 'snapshot') return { [path]: entry.listing.id.replace(/0+$/, '') };
  if (entry.kind === 'link') return { [path]: `-> ${entry.target}` };
  if (entry.entries.size === 0) return { [path]: '/' };
  return Object.assign({}, ...[...entry.entries].map(([name, each]) => flatten(each, `${path}/${name}`)));
}

it.each<[string[], Record<string, string>]>([
  [
    ['%h/%u/%i'],
    { '/tower/ada/aaaaaaaa1': 'aaaaaaaa1', '/we_b/_/aaaaaaaa2': 'aaaaaaaa2', '/tower/ada/bbbbbbbb': 'bbbbbbbb' },
  ],
  [
    ['%t-%h/100%%/%T'],
    {
      [`/daily-tower/100%/${AT_FIRST}`]: 'aaaaaaaa1',
      '/daily-tower/100%/latest': `-> ${AT_FIRST}`,
      [`/x-tower/100%/${AT_FIRST}`]: 'aaaaaaaa1',
      '/x-tower/100%/latest': `-> ${AT_FIRST}`,
      [`/daily-we_b/100%/${AT_FIRST}`]: 'aaaaaaaa2',
      '/daily-we_b/100%/latest': `-> ${AT_FIRST}`,
    },
  ],
  [
    ['all/%T'],
    {
      [`/all/${AT_FIRST}`]: 'aaaaaaaa1',
      [`/all/${AT_FIRST}-1`]: 'aaaaaaaa2',
      [`/all/${AT_LAST}`]: 'bbbbbbbb',
      '/all/latest': `-> ${AT_LAST}`,
    },
  ],
  [
    ['%h', '%h/sub/%i'],
    {
      '/tower': 'aaaaaaaa1',
      '/tower-1': 'bbbbbbbb',
      '/we_b': 'aaaaaaaa2',
      '/tower-2/sub/aaaaaaaa1': 'aaaaaaaa1',
      '/tower-2/sub/bbbbbbbb': 'bbbbbbbb',
      '/we_b-1/sub/aaaaaaaa2': 'aaaaaaaa2',
    },
  ],
  [['latest', '%T'], { '/latest': 'aaaaaaaa1', '/latest-1': 'aaaaaaaa2', '/latest-2': 'bbbbbbbb', ...times('') }],
])('the templates %j give the paths of the snapshots', (templates, expected) => {
  expect(flatten(named(...templates))).toEqual(expected);
});

function times(directory: string): Record<string, string> {
  return {
    [`${directory}/${AT_FIRST}`]: 'aaaaaaaa1',
    [`${directory}/${AT_FIRST}-1`]: 'aaaaaaaa2',
    [`${directory}/${AT_LAST}`]: 'bbbbbbbb',
  };
}

it.each(seedsOf(3, 200))('every snapshot has each of its paths, whatever the templates are (seed %i)', (seed) => {
  const prng = createPrng(seed);
  const pieces = ['%i', '%I', '%u', '%h', '%t', '%T', 'a', 'tower', '%%', 'x'.repeat(250)];
  const names = (): string => Array.from({ length: 1 + prng.int(2) }, () => pieces[prng.int(pieces.length)]).join('-');
  for (let round = 0; round < 50; round += 1) {
    const templates = Array.from({ length: 1 + prng.int(3) }, () =>
      [names(), names(), names()].slice(prng.int(3)).join('/'),
    );
    const found = flatten(named(...templates));
    const message = `seed ${seed}, ${templates.join(' ')}`;
    for (const each of LISTINGS) {
      const id = each.id.replace(/0+$/, '');
      const wanted = templates.reduce((sum, text) => sum + (text.includes('%t') ? each.snapshot.tags.length : 1), 0);
      expect(
        Object.values(found).filter((value) => value === id),
        message,
      ).toHaveLength(wanted);
    }
    for (const path of Object.keys(found))
      expect(Math.max(...path.split('/').map((name) => name.length)), message).toBeLessThanOrEqual(255);
  }
});

it('the directories that templates begin with are there without snapshots', () => {
  expect(flatten(nameSnapshots([], [parsePathTemplate('backups/of/%h'), parsePathTemplate('all')]))).toEqual({
    '/backups/of': '/',
  });
});

it.each(['', '/%h', 'a//%i', '../%i', '%h/', '%x', 'a/%', './%i'])('the template %j is refused', (text) => {
  expect(() => parsePathTemplate(text)).toThrow(UsageError);
});

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { selectSnapshots } from '../../../src/core/snapshots/select-snapshots.ts';
import type { ReadSnapshots, SnapshotListing } from '../../../src/core/repository/read-snapshots.ts';
import { countStringCalls } from '../../support/counted-searches.ts';

const COUNT = 2000;

function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const listings = Array.from({ length: COUNT }, (_, index) => {
  const snapshot = { replaces: index % 2 === 0 ? idOf(`old ${index}`) : undefined, tags: [] };
  return { id: idOf(`new ${index}`), snapshot } as unknown as SnapshotListing;
});

function read(deleted: boolean): ReadSnapshots {
  return { deleted, listings, copied: new Map(), damaged: new Map(), hasMoved: false };
}

describe('thousands of snapshots, named by their ids,', () => {
  it('are found without comparing each name with each id', () => {
    const calls = countStringCalls('startsWith');
    const selectors = listings.map(({ id }) => id.slice(0, 16));
    expect(selectSnapshots({}, read(false), { selectors })).toEqual(listings);
    expect(calls.count).toBeLessThan(3 * COUNT);
  });

  it('are found by the ids that they had before they were deleted', () => {
    const replacing = listings.filter(({ snapshot }) => snapshot.replaces !== undefined);
    const selectors = replacing.map(({ snapshot }) => snapshot.replaces!.slice(0, 16));
    expect(selectSnapshots({}, read(true), { selectors })).toEqual(replacing);
    expect(() => selectSnapshots({}, read(false), { selectors })).toThrow(/no snapshot id begins/);
  });
});

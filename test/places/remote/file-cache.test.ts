import { createHash } from 'node:crypto';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { FileCache } from '../../../src/places/remote/file-cache.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

const SIZE_BYTES = 100;

function open(directory: string, maxBytes: number): FileCache {
  const onTrouble = (reason: string): void => expect(reason).toBe('');
  return new FileCache({ directory, repositoryId: 'ab'.repeat(32), packHash: 'sha256', maxBytes, onTrouble });
}

/** Adds a manifest and returns its name. */
function put(cache: FileCache, number: number): string {
  const bytes = Buffer.alloc(SIZE_BYTES, `snapshot ${number} `);
  const name = `snapshots/${createHash('sha256').update(bytes).digest('hex')}`;
  cache.put(name, bytes);
  return name;
}

/** Counts how often a file is measured. */
function countMeasures(): { count: number } {
  const calls = { count: 0 };
  replaceCall('lstatSync', (real) => {
    const counting = (...given: Parameters<typeof real>): unknown => {
      calls.count += 1;
      return real(...given);
    };
    return counting as typeof real;
  });
  return calls;
}

describe('the cache of remote files', () => {
  it('measures each file once while it fills', () => {
    const cache = open(temporaryDirectory(), 1e9);
    const calls = countMeasures();
    for (let number = 0; number < 300; number += 1) put(cache, number);
    expect(cache.namesIn('snapshots')).toHaveLength(300);
    expect(calls.count).toBeLessThanOrEqual(300);
  });

  it('measures a few files for each that it adds when it is full', () => {
    const directory = temporaryDirectory();
    const first = open(directory, 1e9);
    const names = Array.from({ length: 100 }, (_, number) => put(first, number));
    const cache = open(directory, 100 * SIZE_BYTES);
    const calls = countMeasures();
    for (let number = 100; number < 400; number += 1) names.push(put(cache, number));
    expect(cache.namesIn('snapshots').toSorted()).toEqual(names.slice(-100).toSorted());
    // The new one, the oldest one, and once more when that is removed.
    expect(calls.count).toBeLessThanOrEqual(100 + 3 * 300);
  });

  it('keeps what another process has used since', () => {
    const directory = temporaryDirectory();
    const cache = open(directory, 3 * SIZE_BYTES);
    const [one, two, three] = [put(cache, 1), put(cache, 2), put(cache, 3)];
    utimesSync(join(directory, 'ab'.repeat(32), one), 4e9, 4e9);
    const four = put(cache, 4);
    expect(cache.namesIn('snapshots').toSorted()).toEqual([one, three, four].toSorted());
    expect(cache.has(two)).toBe(false);
  });

  it('removes a file that is too large on its own, and nothing else', () => {
    const cache = open(temporaryDirectory(), 3 * SIZE_BYTES);
    const small = put(cache, 1);
    const bytes = Buffer.alloc(4 * SIZE_BYTES);
    cache.put(`snapshots/${createHash('sha256').update(bytes).digest('hex')}`, bytes);
    expect(cache.namesIn('snapshots')).toEqual([small]);
  });
});

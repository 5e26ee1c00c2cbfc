import { beforeEach, describe, expect, test } from 'vitest';

import { COMMITS_NAME, commitName, parseCommitName } from '../../../src/core/format/layout.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { readCommitLog } from '../../../src/core/repository/commit-log.ts';
import type { CommitLog } from '../../../src/core/repository/commit-log.ts';
import { CommitRecords } from '../../../src/core/repository/commit-records.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import { lastCommitOf } from '../../../src/core/repository/listing.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';

const id = (digit: string): string => digit.repeat(64);
const holds = async (): Promise<void> => undefined;

let disk: MemoryBackend;
let records: CommitRecords;

beforeEach(async () => {
  disk = new MemoryBackend();
  await initRepository({ backend: disk, ...optionsOfTests() }, { capacity: 64, encryption: 'never' });
  records = new CommitRecords(plainPlace(disk), new DurableOrder(plainPlace(disk)), holds);
});

async function read(listed: readonly number[]): Promise<CommitLog> {
  return await readCommitLog(plainPlace(disk), listed);
}

/** Ten commits, of which some are reclaimed in between. */
async function commitAndMerge(): Promise<void> {
  for (const digit of '0123') await records.record([id(digit)]);
  await records.merge(await read([1, 2, 3, 4]), [id('3')]);
  for (const digit of '456') await records.record([id(digit)]);
  await records.merge(await read([]), [id('3'), id('6')]);
  for (const digit of '78') await records.record([id(digit)]);
}

test.each([[[]], [[1]], [[1, 2, 3, 4]], [[10]], [[11]], [[9, 11]]])(
  'whatever an old listing has (%j), the records that count are found by name',
  async (listed) => {
    await commitAndMerge();
    const log = await read(listed);
    expect([...log.snapshotIds].toSorted()).toEqual(['3', '6', '7', '8'].map(id));
    expect({ end: log.end, damaged: [...log.damaged.keys()] }).toEqual({ end: 11, damaged: [] });
  },
);

test('a record that takes the place of others gets another number if its own was used meanwhile', async () => {
  for (const digit of '01') await records.record([id(digit)]);
  const merge = await records.prepareMerge(await read([1, 2]), [id('1')]);
  await new CommitRecords(plainPlace(disk), new DurableOrder(plainPlace(disk)), holds).record([id('2')]);
  await records.publishMerge(merge);
  await records.record([id('3')]);
  const log = await read([]);
  expect([...log.snapshotIds].toSorted()).toEqual(['1', '3'].map(id));
  expect({ start: log.start, end: log.end, numbers: log.numbers.toSorted((a, b) => a - b) }).toEqual({
    start: 4,
    end: 5,
    numbers: [4, 5],
  });
  expect(await disk.list('tmp')).toEqual([]);
});

/** Its listings of commit records are old. */
class OldListing extends FaultyBackend {
  readonly #listed: readonly number[];

  constructor(listed: readonly number[]) {
    super(disk);
    this.#listed = listed;
  }

  override async list(directory: string): ReturnType<FaultyBackend['list']> {
    const files = await super.list(directory);
    const others = files.filter(({ name }) => !name.startsWith('index/commit'));
    return directory === 'index'
      ? [...others, ...this.#listed.map((number) => ({ name: commitName(number), sizeBytes: 1 }))]
      : files;
  }
}

describe.each([[[]], [[1]], [[1, 9, 10]], [[1, 2, 3, 4]], [[9]]])('where a listing has the records %j', (listed) => {
  const write = async (digit: string): Promise<void> => {
    const place = plainPlace(new OldListing(listed));
    const writer = new CommitRecords(place, new DurableOrder(place), holds);
    await writer.record([id(digit)]);
    await writer.record([id('a')]);
  };

  test('a new record gets a number that counts', async () => {
    await commitAndMerge();
    await write('9');
    const log = await read([]);
    expect([...log.snapshotIds].toSorted()).toEqual(['3', '6', '7', '8', '9', 'a'].map(id));
    expect({ end: log.end, damaged: [...log.damaged.keys()] }).toEqual({ end: 13, damaged: [] });
  });

  test('a damaged name of the first record does not make a commit fail', async () => {
    await commitAndMerge();
    disk.poke(COMMITS_NAME, Buffer.from('damaged'));
    await write('9');
    const numbers = disk.names().map(parseCommitName);
    const log = await read(numbers.filter((number) => number !== undefined));
    expect([...log.snapshotIds].toSorted()).toEqual(['3', '6', '7', '8', '9', 'a'].map(id));
    expect([...log.damaged.keys()]).toEqual([COMMITS_NAME]);
  });
});

test('a record that was taken back leaves a gap that is passed over', async () => {
  for (const digit of '01234') await records.record([id(digit)]);
  for (const number of [3, 4]) await disk.remove(commitName(number));
  expect([...(await read([1])).snapshotIds].toSorted()).toEqual(['0', '1', '4'].map(id));
});

test('names with high numbers cost a read each, take the place of nothing, and are not gone on from', async () => {
  await commitAndMerge();
  disk.poke(commitName(5_000_000), disk.peek(commitName(9))!);
  const counting = new FaultyBackend(disk);
  const log = await readCommitLog(plainPlace(counting), [9, 10, 11, 5_000_000]);
  expect([...log.snapshotIds].toSorted()).toEqual(['3', '6', '7', '8'].map(id));
  expect(log.end).toBe(11);
  expect([...log.damaged.keys()]).toEqual([commitName(5_000_000)]);
  expect(counting.operations.length).toBeLessThan(40);
  expect(lastCommitOf([9, 10, 11, 5_000_000])).toBe(11);
});

test('a missing record, or a missing name of it, is damage', async () => {
  await commitAndMerge();
  const whole = disk.copy();
  await disk.remove(commitName(9));
  expect([...(await read([10, 11])).damaged.keys()]).toEqual([commitName(9)]);
  disk = whole;
  await disk.remove(COMMITS_NAME);
  expect([...(await read([9, 10, 11])).damaged.keys()]).toEqual([COMMITS_NAME]);
});

test('a listing can have more commit records than a function can have arguments', () => {
  expect(lastCommitOf(Array.from({ length: 300_000 }, (_, index) => index + 1))).toBe(300_000);
});

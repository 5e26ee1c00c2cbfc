import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { ChangingFiles } from '../../../src/core/saving/changing-files.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { bareDirectory } from '../../../src/core/format/tree/tree-entry.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import type { BackupOptions } from '../../../src/verbs/backup/backup.ts';
import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import { findContent } from '../../../src/verbs/have/have.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const MIB = 1024 * 1024;
const LARGE = 65 * MIB;

let content: Buffer;
let repository: TestRepository;
let file: string;
let changeCount: number;

beforeAll(() => {
  content = createPrng(34).bytes(3 * MIB);
});

beforeEach(async () => {
  repository = await makeTestRepository();
  file = join(repository.source, 'vm.img');
  writeFileSync(file, content);
  // Zeros are cut and hashed once.
  truncateSync(file, LARGE);
  changeCount = 0;
});

/** Changes a few bytes in two chunks of 1 MiB, one of them at its beginning, always in the same places. */
function change(): void {
  const descriptor = openSync(file, 'r+');
  changeCount += 1;
  for (const offset of [0, 1.5 * MIB]) writeSync(descriptor, `change ${changeCount}`, offset);
  closeSync(descriptor);
}

async function backUp(options: Partial<BackupOptions> = {}): Promise<BackupResult['summary'] & { listed: unknown[] }> {
  const listed: unknown[] = [];
  const { summary } = await repository.backup({
    ...options,
    onEntry: ({ path, inSmallChunks = false }) => void (path.endsWith('.img') && listed.push(inSmallChunks)),
  });
  return { ...summary, listed };
}

/** Backs up until the file is cut into small chunks where it changes. */
async function backUpChanges(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await backUp();
    change();
  }
}

/** What a change costs that is stored in chunks of 1 MiB: at least 256 KiB for each. */
const WHOLE_CHUNKS_BYTES = 512 * 1024;
/** At most 256 KiB for each. */
const SMALL_CHUNKS_BYTES = 512 * 1024;

describe('a large file', () => {
  test('that changed in two backups in a row costs less with the third change', async () => {
    await backUp();
    change();
    expect(await backUp()).toMatchObject({
      dataBlobs: expect.toSatisfy((count: number) => count <= 4),
      listed: [false],
    });
    change();
    const second = await backUp();
    expect(second.listed).toEqual([true]);
    expect(second.dataAdded).toBeGreaterThan(WHOLE_CHUNKS_BYTES);
    change();
    const third = await backUp();
    expect(third.listed).toEqual([true]);
    expect(third.dataAdded).toBeLessThan(SMALL_CHUNKS_BYTES);
    expect(third.dataBlobs).toBeLessThanOrEqual(5);
    await repository.expectRestored();
    await repository.expectClean();
  });

  test('that changed only once, or not in the backup before, is cut as before', async () => {
    await backUp();
    change();
    await backUp();
    await backUp();
    change();
    expect(await backUp()).toMatchObject({
      dataBlobs: expect.toSatisfy((count: number) => count <= 4),
      listed: [false],
    });
  });

  test('is not cut again if only its time has changed, nor under another name or on another host', async () => {
    await backUpChanges();
    await backUp();
    utimesSync(file, 1, 1);
    // Nothing in it is new.
    expect(await backUp()).toMatchObject({ dataBlobs: 0, listed: [false] });
    expect((await backUp({ hostname: 'elsewhere' })).dataBlobs).toBe(0);
    const copy = join(repository.source, 'copy.img');
    copyFileSync(file, copy);
    expect((await backUp()).dataBlobs).toBe(0);
    renameSync(file, join(repository.source, 'renamed.img'));
    expect((await backUp()).dataBlobs).toBe(0);
  });

  test('stays in small chunks after a night without a change', async () => {
    await backUpChanges();
    await backUp();
    await backUp();
    change();
    expect((await backUp()).dataAdded).toBeLessThan(SMALL_CHUNKS_BYTES);
  });

  test('stays in small chunks when it shrinks', async () => {
    await backUpChanges();
    await backUp();
    truncateSync(file, LARGE - 2 * MIB);
    expect((await backUp()).dataAdded).toBeLessThan(5 * MIB);
    await repository.expectRestored();
  });

  test('with a chunk that is stored, and of which only the beginning is stored as a small chunk, adds nothing', async () => {
    await backUpChanges();
    await backUp();
    const head = readFileSync(file).subarray(0, 4 * MIB);
    head.write('changed behind its beginning', 400 * 1024);
    const other = join(repository.source, 'other.img');
    writeFileSync(other, head);
    await backUp();
    truncateSync(other, LARGE);
    expect((await backUp()).dataBlobs).toBe(0);
  });

  test('adds nothing under another name, or if only its time has changed, where a chunk begins with zeros', async () => {
    writeFileSync(file, Buffer.concat([Buffer.alloc(6 * MIB), content]));
    truncateSync(file, LARGE);
    expect((await backUp({ smallChunks: 'always' })).listed).toEqual([true]);
    copyFileSync(file, join(repository.source, 'copy.img'));
    expect((await backUp()).dataBlobs).toBe(0);
    utimesSync(file, 1, 1);
    expect(await backUp()).toMatchObject({ dataBlobs: 0, filesChanged: 0 });
  });

  test('is found by diff and have in small and in large chunks', async () => {
    await backUpChanges();
    await backUp();
    const { context, source } = repository;
    expect(await findContent(context, { paths: [source] }, () => undefined)).toMatchObject({
      files: 1,
      missingFiles: 0,
    });
    const changedFiles = async (): Promise<number> =>
      (await diffSnapshots(context, { before: 'latest', checksum: true })).statistics.changedFiles;
    expect(await changedFiles()).toBe(0);
    // The same bytes in large chunks.
    writeFileSync(join(source, 'head.img'), readFileSync(file).subarray(0, 4 * MIB));
    expect((await backUp()).dataAdded).toBeGreaterThan(WHOLE_CHUNKS_BYTES);
    expect(await changedFiles()).toBe(0);
    change();
    expect((await backUp()).dataAdded).toBeLessThan(SMALL_CHUNKS_BYTES);
    change();
    expect(await changedFiles()).toBe(1);
    expect(await findContent(context, { paths: [source] }, () => undefined)).toMatchObject({ missingFiles: 1 });
  });
});

describe('small chunks', () => {
  test.each(['always', 'never'] as const)('%s', async (smallChunks) => {
    const isAlways = smallChunks === 'always';
    const first = await backUp({ smallChunks });
    expect(first.listed).toEqual([isAlways]);
    expect(first.dataBlobs > 20).toBe(isAlways);
    change();
    await backUp({ smallChunks });
    change();
    const last = await backUp({ smallChunks });
    expect(last.listed).toEqual([isAlways]);
    expect(last.dataAdded < SMALL_CHUNKS_BYTES && last.dataBlobs <= 3).toBe(
      isAlways || last.dataAdded < SMALL_CHUNKS_BYTES,
    );
    await repository.expectRestored();
  });

  test('a dry run counts them', async () => {
    const { dataBlobs, dataAdded } = await backUp({ smallChunks: 'always', dryRun: true });
    expect(dataBlobs).toBeGreaterThan(20);
    expect(await backUp({ smallChunks: 'always' })).toMatchObject({ dataBlobs, dataAdded });
  });

  test('are used for a stream', async () => {
    const stream = async (): Promise<BackupResult> => {
      const bytes = readFileSync(file);
      change();
      async function* parts(): AsyncGenerator<Uint8Array> {
        yield bytes;
      }
      return await repository.backup({ sources: [], stream: { path: '/db.sql', content: parts() } });
    };
    for (let round = 0; round < 3; round += 1) await stream();
    expect((await stream()).summary).toMatchObject({
      dataBlobs: expect.toSatisfy((count: number) => count <= 5),
      dataAdded: expect.toSatisfy((bytes: number) => bytes < SMALL_CHUNKS_BYTES),
    });
  });

  test('are not added to a repository with millions of chunks', async () => {
    const splittingWith = async (liveCount: number): Promise<unknown> => {
      const state = { filter: { liveCount, deadCount: 0, find: () => -1 } } as unknown as FilterState;
      const chunker = { minSizeBytes: MIB };
      const files = new ChangingFiles({
        smallChunks: 'always',
        chunker,
        state,
        earlier: undefined,
        base: '/' as ByteString,
      });
      const place = { parent: undefined, name: 'a' as ByteString };
      const splittings: unknown[] = [];
      for (let count = 0; count < 3; count += 1)
        splittings.push(await files.splittingOf(place, 64 * MIB, bareDirectory('a' as ByteString, new Uint8Array())));
      return splittings;
    };
    expect(await splittingWith(2 ** 22 - 2048)).toEqual(['all', 'all', 'known']);
    expect(await splittingWith(2 ** 22)).toEqual(['known', 'known', 'known']);
  });
});

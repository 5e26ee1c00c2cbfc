import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { restore } from '../../../src/verbs/restore/restore.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { threadsOfTests, withoutThreads } from '../../support/test-threads.ts';

const KIB = 1024;
const CHUNK_BYTES = 64 * KIB;
const SIZES = { blockRawBytes: 160 * KIB, packBytes: 1024 * KIB, segmentBytes: 16 * 1024 * KIB };

/** A repository of chunks of 64 KiB, two in a block. */
async function makeRepository(): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes: CHUNK_BYTES } });
  Object.assign(repository.context, { storeSizes: SIZES });
  return repository;
}

/**
 * Files that begin with the same bytes, which an earlier backup stored, and end with bytes of their own. A restore reads
 * the block of the beginning first, and then all of them are pending.
 */
async function saveFilesWithCommonBeginning(options: {
  readonly count: number;
  readonly beginBytes: number;
  readonly endBytes: number;
}): Promise<TestRepository> {
  const repository = await makeRepository();
  const prng = createPrng(20261125);
  const beginning = prng.bytes(options.beginBytes);
  writeFileSync(join(repository.source, 'beginning'), beginning);
  await repository.backup();
  rmSync(join(repository.source, 'beginning'));
  for (let index = 0; index < options.count; index += 1) {
    writeFileSync(join(repository.source, `${index}`), Buffer.concat([beginning, prng.bytes(options.endBytes)]));
  }
  await repository.backup();
  return repository;
}

function packNames(directory: string): string[] {
  const names = readdirSync(join(directory, 'repository', 'packs'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.includes('/'));
}

function temporaryNames(target: string): string[] {
  if (!existsSync(join(target, 'source'))) return [];
  return readdirSync(join(target, 'source')).filter((name) => name.startsWith('.ldm-restore-'));
}

/** Looks at the target whenever the restore reads from the repository. */
class WatchedBackend extends FaultyBackend {
  onRead: () => void = () => undefined;

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    this.onRead();
    return super.readRange(name, offset, target);
  }
}

/** Restores without threads, and returns the largest number of temporary files that were there at a time. */
async function restoreWatched({ context, directory, source }: TestRepository): Promise<number> {
  const target = join(directory, 'target');
  const backend = new WatchedBackend(context.backend);
  let pendingMax = 0;
  backend.onRead = () => {
    pendingMax = Math.max(pendingMax, temporaryNames(target).length);
  };
  const { problems, blocksRead, blocksNeeded } = await withoutThreads(async () =>
    restore({ backend, threads: threadsOfTests() }, { selector: 'latest', target }),
  );
  expect(problems).toEqual([]);
  expect(blocksRead).toBe(blocksNeeded);
  expect(blocksNeeded).toBeGreaterThan(20);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  return pendingMax;
}

/** The second case has each end in a pack of its own. */
it.runIf(process.platform === 'linux').each([
  { count: 200, endBytes: 2 * KIB },
  { count: 40, endBytes: 1024 * KIB },
])('more files can be pending than may be open: %o', async ({ count, endBytes }) => {
  const openFiles = 96;
  const { directory, source } = await saveFilesWithCommonBeginning({ count, beginBytes: 5 * CHUNK_BYTES, endBytes });
  if (count === 40) expect(packNames(directory).length).toBeGreaterThan(32);
  const target = join(directory, 'target');
  mkdirSync(target);
  const program = [process.execPath, ldmProgram, '-r', join(directory, 'repository')];
  const command = [
    '-c',
    `ulimit -n ${openFiles}; exec "$@"`,
    'sh',
    ...program,
    'restore',
    'latest',
    '--target',
    target,
  ];
  const { status, stderr } = spawnSync('sh', command, { encoding: 'utf8', env: cleanEnvironment({}) });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
});

describe('small files whose chunks are in several blocks', () => {
  it('are whole if some of them did not fit into the memory at first, and others are completed before them', async () => {
    // 228 KiB each: 71 of them fit into 16 MiB.
    const files = { count: 90, beginBytes: 2 * CHUNK_BYTES, endBytes: 100 * KIB };
    expect(await restoreWatched(await saveFilesWithCommonBeginning(files))).toBeGreaterThan(10);
  });

  it('need no temporary files if few of them are pending at a time, whatever they have together', async () => {
    const repository = await makeRepository();
    const prng = createPrng(20261126);
    // More than 16 MiB together. A block ends in the middle of each.
    for (let index = 0; index < 100; index += 1) {
      writeFileSync(join(repository.source, `${index}`), prng.bytes(3 * CHUNK_BYTES));
    }
    await repository.backup();
    expect(await restoreWatched(repository)).toBe(0);
  });
});

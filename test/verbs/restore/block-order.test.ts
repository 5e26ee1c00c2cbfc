import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { exitCodeOfRestore } from '../../../src/verbs/restore/report.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import type { RestoreOptions, RestoreResult } from '../../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../../support/compare-trees.ts';
import { flip, packsOfKind } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { contentReads } from '../../support/pack-reads.ts';
import { createPrng } from '../../support/prng.ts';
import { inSoak } from '../../support/soak.ts';
import { makeTemporaryDirectory, memoryDirectory } from '../../support/temp-directory.ts';

const SEED = 20261201;
const DIRECTORIES = 150;
const KIB = 1024;
const TINY = { kind: 'fastcdc', minSizeBytes: 512, averageSizeBytes: 2048, maxSizeBytes: 8192 } as const;
/** So small that the chunks of a file of 10 KB are in several blocks. */
const SIZES = { blockRawBytes: 16 * KIB, packBytes: 200 * KIB, segmentBytes: 500 * KIB };

/** Files that are mixed from pieces which an earlier snapshot stored, so that their chunks are all over the packs. */
function makeMixedTree(directory: string, pieces: readonly Buffer[]): void {
  const prng = createPrng(SEED);
  const mix = (count: number): Buffer =>
    Buffer.concat(Array.from({ length: count }, () => pieces[prng.int(pieces.length)]!));
  for (let index = 0; index < DIRECTORIES; index += 1) {
    const name = join(directory, `d${prng.int(1000)}-${index}`, 'in', 'it');
    mkdirSync(name, { recursive: true });
    writeFileSync(join(name, '..', 'one'), pieces[prng.int(pieces.length)]!.subarray(0, 600));
    writeFileSync(join(name, 'mixed'), mix(1 + prng.int(4)));
    writeFileSync(join(name, 'empty'), '');
    symlinkSync('one', join(name, 'link'));
    // Too large to be gathered in memory, and more of them than may be open at once.
    if (index % 3 === 0) writeFileSync(join(name, 'large'), mix(20 + prng.int(8)), { mode: 0o444 });
    // Names of one file in several directories, and therefore in several plans.
    if (index % 10 !== 0) linkSync(join(name, 'mixed'), join(directory, `link-${index % 10}-${index}`));
  }
}

interface Mixed {
  readonly disk: MemoryBackend;
  readonly source: string;
}

const directory = makeTemporaryDirectory();
/** Made once; each test works on a copy of the repository. */
let mixed: Mixed;

beforeAll(async () => {
  mixed = await makeMixed();
});
afterAll(() => rmSync(directory, { recursive: true }));

async function makeMixed(): Promise<Mixed> {
  const disk = new MemoryBackend();
  const context = { backend: disk, storeSizes: SIZES };
  await initRepository(context, { chunker: TINY });
  const source = join(directory, 'source');
  mkdirSync(source);
  const prng = createPrng(SEED + 1);
  const pieces = Array.from({ length: 100 }, () => prng.bytes(9000 + prng.int(9000)));
  for (const [index, piece] of pieces.entries()) writeFileSync(join(source, `${index}`), piece);
  await backup(context, { sources: [source], cwd: directory });
  rmSync(source, { recursive: true });
  mkdirSync(source);
  makeMixedTree(source, pieces);
  await backup(context, { sources: [source], cwd: directory });
  return { disk, source };
}

interface Stage extends Mixed {
  readonly target: string;
  /** Restores. `before` is called ahead of each read of contents. */
  readonly run: (before?: (at: string) => void, options?: Partial<RestoreOptions>) => Promise<RestoreResult>;
}

async function setStage(): Promise<Stage> {
  const { disk, source } = mixed;
  const copy = disk.copy();
  const target = join(memoryDirectory(), 'target');
  const run: Stage['run'] = async (before = () => undefined, options = {}) =>
    restore({ backend: contentReads(copy, before) }, { selector: 'latest', target, ...options });
  return { disk: copy, source, target, run };
}

function namesLeft(target: string): string[] {
  return [...describeTree(target).keys()].filter((path) => path.includes('.ldm-restore'));
}

it('reads each block once, although the files need chunks from all over the repository', async () => {
  const { run, source, target } = await setStage();
  const reads: string[] = [];
  const { problems, blocksRead, blocksNeeded } = await run((at) => void reads.push(at));
  expect(problems).toEqual([]);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  expect(blocksNeeded).toBeGreaterThan(50);
  expect(blocksRead).toBe(blocksNeeded);
  // Some blocks take a second read for their end.
  expect(reads.length).toBeGreaterThanOrEqual(blocksNeeded);
  expect(new Set(reads).size).toBe(reads.length);
});

it('goes on with another plan when the memory for one is used up, and reads blocks again then', async () => {
  const { run, source, target } = await setStage();
  const { problems, blocksRead, blocksNeeded } = await run(undefined, { planBytesMax: inSoak(1, 20_000) });
  expect(problems).toEqual([]);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  expect(blocksRead).toBeGreaterThan(4 * blocksNeeded);
});

it('leaves out the files that need a damaged block, and nothing of them', async () => {
  const { run, source, target, disk } = await setStage();
  // In every pack, since their names and therefore their order are random.
  for (const pack of packsOfKind(disk, 'data')) {
    for (const offset of [5000, 45_000]) await flip(disk, pack, offset).apply(disk);
  }
  const { problems, filesFailed, filesRestored } = await run();
  const missing = problems.map(({ path }) => path).toSorted();
  expect(missing.length).toBeGreaterThan(3);
  expect([filesFailed, exitCodeOfRestore({ problems })]).toEqual([missing.length, 1]);
  expect(filesRestored).toBeGreaterThan(3 * DIRECTORIES - missing.length);
  const differences = diffTrees(source, join(target, 'source'), { differenceCountMax: 1000 });
  expect(differences.map((line) => `source/${line.split(/[ :]/)[0]!.replaceAll('"', '')}`).toSorted()).toEqual(missing);
  expect(namesLeft(target)).toEqual([]);
});

it('leaves nothing of incomplete files when it ends early', async () => {
  const { run, target } = await setStage();
  let pendingCount = 0;
  const restoring = run(() => {
    pendingCount = namesLeft(target).length;
    if (pendingCount > 40) throw new Error('the repository is gone');
  });
  await expect(restoring).rejects.toThrow('the repository is gone');
  // More than may be open at once.
  expect(pendingCount).toBeGreaterThan(40);
  expect(namesLeft(target)).toEqual([]);
});

it('writes nothing through a symlink that took the place of a directory which was closed for a while', async () => {
  const { run, source, target } = await setStage();
  const outside = memoryDirectory();
  for (const name of readdirSync(source)) mkdirSync(join(outside, name, 'in', 'it'), { recursive: true });
  const before = describeTree(outside);
  let isSwapped = false;
  const { problems } = await run(() => {
    if (isSwapped || !existsSync(join(target, 'source'))) return;
    isSwapped = true;
    for (const name of readdirSync(join(target, 'source'))) {
      renameSync(join(target, 'source', name), join(target, `moved-${name}`));
      symlinkSync(join(outside, name), join(target, 'source', name));
    }
  });
  expect(isSwapped).toBe(true);
  expect(diffTrees(before, outside)).toEqual([]);
  // Only the directories that were still open could be filled.
  expect(problems.length).toBeGreaterThan(DIRECTORIES / 2);
  expect(problems.map(({ message }) => message).find((message) => !/return to the directory/.test(message))).toBe(
    undefined,
  );
});

import { packName } from '../../../src/core/format/layout.ts';
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LdmError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { createPrng } from '../../support/prng.ts';
import { inSoak } from '../../support/soak.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** More than the trees have. */
const NOISE_BYTES = 200_000;

/** A snapshot of directories whose trees are in one pack, with one wrong byte in it. `prepare` adds to its source. */
async function makeDamaged(
  position: number,
  prepare: (source: string) => void = () => undefined,
): Promise<TestRepository> {
  const repository = await makeTestRepository();
  prepare(repository.source);
  for (let number = 0; number < 60; number += 1) {
    const deep = join(repository.source, `a${number}`, 'b', 'c');
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(deep, 'file'), `${number}`);
  }
  // Of the two packs, the one of the files is the longer by far.
  writeFileSync(join(repository.source, 'noise'), createPrng(2).bytes(NOISE_BYTES));
  await repository.backup();
  const packs = filesOf(repository, 'packs').map((id) => join(repository.directory, 'repository', packName(id)));
  const [trees = ''] = packs.filter((path) => statSync(path).size < NOISE_BYTES);
  const bytes = readFileSync(trees);
  bytes[position < 0 ? bytes.length + position : position]! ^= 0x55;
  chmodSync(trees, 0o600);
  writeFileSync(trees, bytes);
  expect((await check(repository.context, { readData: true })).findings).not.toEqual([]);
  return repository;
}

/** Where not even the topmost tree can be read, a restore fails. */
async function isRestorable(repository: TestRepository): Promise<boolean> {
  return await repository.restore().then(
    ({ exitCode }) => exitCode !== 1,
    () => false,
  );
}

/** Of the block of trees: its header, what is compressed in it, and its last bytes. */
test.each([40, 1000, -1500, -200])(
  'trees that cannot be read are stored again (byte %d is wrong)',
  async (position) => {
    const repository = await makeDamaged(position);
    const isHit = !(await isRestorable(repository));

    const { summary } = await repository.backup();
    const told = repository.notices.filter(({ kind }) => kind === 'parent-damaged');
    expect([told.length, summary.treeBlobs > 0]).toEqual(isHit ? [1, true] : [0, false]);
    await repair(repository.context);
    await repository.expectClean();
    await repository.expectRestored();
    await repository.expectRestored('latest~1');
  },
);

test('a tree that many directories share is stored again only once', async () => {
  const twinCount = 10;
  const repository = await makeDamaged(1000, (source) => {
    writeFileSync(join(source, 'file'), 'file');
    for (let number = 0; number < twinCount; number += 1) {
      const twin = join(source, `twin${number}`);
      mkdirSync(twin);
      linkSync(join(source, 'file'), join(twin, 'link'));
      utimesSync(twin, 1, 1);
    }
  });
  const { source, directory } = repository;
  const all = await (await makeTestRepository()).backup({ sources: [source], cwd: directory });
  const { summary } = await repository.backup();
  expect(summary.treeBlobs).toBe(all.summary.treeBlobs);
  await repair(repository.context);
  await repository.expectClean();
});

// Which of two copies counts is decided by the names of their packs, which differ from run to run.
test.each(Array.from({ length: inSoak(20, 2) }, (_, index) => index))(
  'a compaction before the repair leaves the good copy (run %d)',
  async () => {
    const repository = await makeDamaged(1000);
    expect(await isRestorable(repository)).toBe(false);
    // Otherwise the very pack would be made again, under its own name.
    writeFileSync(join(repository.source, 'a1', 'b', 'c', 'file'), 'changed');
    expect((await repository.backup()).summary.treeBlobs).toBeGreaterThan(100);
    await compact(repository.context, { maxUnusedPercent: 0 }).catch((error: unknown) => {
      // It stops where it meets a tree that it cannot read.
      expect(error).toBeInstanceOf(LdmError);
    });
    await repair(repository.context);
    await repository.expectRestored();
  },
);

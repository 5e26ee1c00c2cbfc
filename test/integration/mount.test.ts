import { execFile, spawnSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { beforeEach, describe, expect, it } from 'vitest';

import { makeEndlessHome } from '../cli/endless-backup.ts';
import { startLdm } from '../cli/start-ldm.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { fuseProblem, isMounted, mountRepository } from '../support/fuse.ts';
import { createPrng } from '../support/prng.ts';
import { makeRandomTree } from '../support/random-tree.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';
import { waitUntil } from '../support/wait-until.ts';

const run = promisify(execFile);

// Programs that read the mount while this process waits for them would wait for it too: they are started, not run.
async function outputOf(program: string, ...args: readonly string[]): Promise<string> {
  return (await run(program, [...args], { maxBuffer: 2 ** 26 })).stdout;
}

/** A repository with one snapshot of random files. Its tree has everything that the tests look for. */
async function makeMountable(seed: number): Promise<TestRepository> {
  const repository = await makeTestRepository();
  makeRandomTree(repository.source, { seed, fileCount: 60 });
  mkdirSync(join(repository.source, 'links'));
  writeFileSync(join(repository.source, 'links', 'first'), 'one file');
  linkSync(join(repository.source, 'links', 'first'), join(repository.source, 'links', 'second'));
  symlinkSync('../\u00e9', join(repository.source, 'links', 'symlink'));
  return repository;
}

beforeEach(({ skip }) => skip(fuseProblem !== undefined, fuseProblem));

describe('a mount', () => {
  it.each(seedsOf(1, 20))(
    'shows files, metadata, links and names of any bytes as they were backed up (seed %i)',
    async (seed) => {
      const repository = await makeMountable(seed);
      await repository.backup();
      const mounted = await mountRepository(repository.directory);
      const root = join(mounted.directory, 'latest', 'source');
      expect(diffTrees(repository.source, root)).toEqual([]);
      const [first, second] = ['first', 'second'].map((name) => lstatSync(join(root, 'links', name), { bigint: true }));
      expect(first).toEqual(second);
      expect(first!.nlink).toBe(2n);
      expect(readlinkSync(join(root, 'links', 'symlink'))).toBe('../\u00e9');
      await expect(outputOf('diff', '-r', '--no-dereference', repository.source, root)).resolves.toBe('');
      expect(() => statSync(join(root, 'absent'))).toThrow(/ENOENT/);
      expect(() => writeFileSync(join(root, 'new'), '')).toThrow(/EROFS/);
      expect(await mounted.stop()).toBe(0);
      expect(isMounted(mounted.directory)).toBe(false);
    },
  );

  it('shows special files and owners', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository();
    makeSpecialFiles(repository.source);
    await repository.backup();
    const mounted = await mountRepository(repository.directory);
    expect(diffTrees(repository.source, join(mounted.directory, 'latest', 'source'))).toEqual([]);
  });

  it('lists a large directory and reads a large file for several programs at once', async () => {
    const repository = await makeTestRepository();
    const content = createPrng(7).bytes(inSoak(24, 6) << 20);
    writeFileSync(join(repository.source, 'large'), content);
    const wide = join(repository.source, 'wide');
    mkdirSync(wide);
    const names = Array.from({ length: inSoak(10_000, 1000) }, (_, index) => `${index}-${'n'.repeat(index % 200)}`);
    for (const name of names) writeFileSync(join(wide, name), '');
    await repository.backup();
    const mounted = await mountRepository(repository.directory);
    const root = join(mounted.directory, 'latest', 'source');
    await expectListed(join(root, 'wide'), names);
    await expectRead(join(root, 'large'), content);
  });
});

function makeSpecialFiles(directory: string): void {
  const make = (program: string, ...args: readonly string[]): void =>
    expect(spawnSync(program, args, { cwd: directory }).status).toBe(0);
  make('mkfifo', 'fifo');
  make('mknod', 'character', 'c', '1', '3');
  make('mknod', 'block', 'b', '4095', '1048575');
  writeFileSync(join(directory, 'setuid'), '');
  make('chown', '12345:4000000000', 'setuid');
  make('chmod', '6755', 'setuid');
}

/** Completely and in steps. */
async function expectListed(directory: string, names: readonly string[]): Promise<void> {
  const listings = await Promise.all(
    ['-f', '-fs', '-f'].map(async (option) => outputOf('ls', option, '--', directory)),
  );
  for (const listing of listings) {
    const listed = listing.split('\n').map((line) => line.replace(/^ *0 /, ''));
    expect(listed.filter((name) => !/^(\.{0,2}|total.*)$/.test(name)).toSorted()).toEqual(names.toSorted());
  }
  expect(readdirSync(directory).toSorted()).toEqual(names.toSorted());
  const inodes = new Set(names.map((name) => lstatSync(join(directory, name), { bigint: true }).ino));
  expect(inodes.size).toBe(names.length);
}

/** Anywhere in the file. */
async function expectRead(path: string, content: Buffer): Promise<void> {
  const starts = [0, 1, 2].map((part) => Math.floor((part * content.length) / 5));
  const sums = await Promise.all(
    starts.map(async (start) => outputOf('sh', '-c', `tail -c +${start + 1} '${path}' | cksum`)),
  );
  for (const [index, sum] of sums.entries()) {
    const expected = spawnSync('cksum', { input: content.subarray(starts[index]) }).stdout.toString();
    expect(sum).toBe(expected);
  }
  const descriptor = openSync(path, 'r');
  const prng = createPrng(11);
  const part = Buffer.alloc(300_000);
  for (let round = 0; round < 50; round += 1) {
    const offset = prng.int(content.length);
    const length = readSync(descriptor, part, 0, part.length, offset);
    expect(length).toBe(Math.min(part.length, content.length - offset));
    expect(part.subarray(0, length).equals(content.subarray(offset, offset + length))).toBe(true);
  }
  closeSync(descriptor);
}

describe('the directories of a mount', () => {
  it('name snapshots by id, time, host and tag', async () => {
    const repository = await makeTestRepository();
    const ids: string[] = [];
    for (const [index, host] of ['tower', 'web/1', 'tower'].entries()) {
      writeFileSync(join(repository.source, 'file'), `${index}`);
      const time = new Date(Date.UTC(2026, 0, 10 + index)).toISOString();
      ids.push((await repository.backup({ hostname: host, time, tags: index === 0 ? [] : ['daily'] })).snapshotId!);
    }
    const { directory } = await mountRepository(repository.directory);
    const list = (...path: readonly string[]): string[] => readdirSync(join(directory, ...path)).toSorted();
    expect(list()).toEqual(['hosts', 'ids', 'latest', 'snapshots', 'tags']);
    expect(list('ids')).toEqual(ids.map((id) => id.slice(0, 8)).toSorted());
    expect(list('hosts')).toEqual(['tower', 'web_1']);
    expect(list('hosts', 'tower')).toHaveLength(3);
    expect(list('tags', 'daily')).toHaveLength(3);
    expect(list('snapshots')[0]).toMatch(/^2026-01-(09|10)T\d\d:00:00(Z|[+-]\d\d:\d\d)$/);
    const read = (...path: readonly string[]): string =>
      readFileSync(join(directory, ...path, 'source', 'file'), 'utf8');
    expect(ids.map((id) => read('ids', id.slice(0, 8)))).toEqual(['0', '1', '2']);
    expect([read('latest'), read('hosts', 'web_1', 'latest'), read('tags', 'daily', 'latest')]).toEqual([
      '2',
      '1',
      '2',
    ]);
    expect(read('hosts', 'tower', list('hosts', 'tower')[0]!)).toBe('0');
  });

  it('show only what the filters let through, and files of root with --owner-root', async () => {
    const repository = await makeTestRepository();
    const file = join(repository.source, 'file');
    writeFileSync(file, 'x');
    if (isRoot) chownSync(file, 12_345, 4_000_000_000);
    for (const hostname of ['one', 'two']) await repository.backup({ hostname });
    const { directory } = await mountRepository(repository.directory, { args: ['--host', 'two', '--owner-root'] });
    expect(readdirSync(join(directory, 'hosts'))).toEqual(['two']);
    expect(readdirSync(join(directory, 'ids'))).toHaveLength(1);
    expect(statSync(join(directory, 'latest', 'source', 'file'))).toMatchObject({ uid: 0, gid: 0 });
  });

  it('show snapshots that are made meanwhile, and no longer those that are deleted', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'old');
    const snapshotId = (await repository.backup()).snapshotId!;
    const { directory } = await mountRepository(repository.directory);
    const content = (): string => readFileSync(join(directory, 'latest', 'source', 'file'), 'utf8');
    expect(content()).toBe('old');
    const open = openSync(join(directory, 'ids', snapshotId.slice(0, 8), 'source', 'file'), 'r');
    // Its chunks are in packs that the mount has not seen.
    writeFileSync(join(repository.source, 'file'), 'new'.repeat(100_000));
    await repository.backup();
    await waitUntil(() => content() !== 'old', 'the new snapshot appears');
    expect(content()).toBe('new'.repeat(100_000));
    const deleted = await runLdmHere([
      '-r',
      join(repository.directory, 'repository'),
      'delete',
      '--no-reclaim',
      snapshotId,
    ]);
    expect(deleted.code).toBe(0);
    await waitUntil(() => readdirSync(join(directory, 'ids')).length === 1, 'the deleted snapshot disappears');
    const bytes = Buffer.alloc(3);
    expect(readSync(open, bytes, 0, 3, 0)).toBe(3);
    expect(bytes.toString()).toBe('old');
    closeSync(open);
  });

  it('can be used while a backup runs', async () => {
    const home = makeEndlessHome();
    const repository = join(home, 'repository');
    const made = await runLdmHere(['-r', repository, 'init', '--no-encryption', '--capacity', '4096']);
    expect(made.code).toBe(0);
    const { directory } = await mountRepository(home, { repository });
    const backup = startLdm(['-r', repository, 'backup', join(home, 'work'), '--json'], { home });
    await backup.stdoutMatching(/"files_done":[1-9]/);
    expect(readdirSync(join(directory, 'ids'))).toEqual([]);
    backup.child.kill('SIGINT');
    await backup.ended;
  });
});

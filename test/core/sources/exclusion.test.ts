import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import type { BackupEntry } from '../../../src/verbs/backup/backup.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { ldmProgram } from '../../support/run-ldm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { listPaths, writeFiles } from '../../verbs/backup/source-tree.ts';

const CACHE_TAG = 'Signature: 8a477f597d28d172789f06886806bc55';

it('a tag file leaves itself and the directory, and does not hide a source', async () => {
  const repository = await makeTestRepository();
  const { source } = repository;
  writeFiles(source, 'cache/a', 'cache/sub/b', 'wrong/a', 'marked/a', 'marked/.skip', 'both/a', 'both/.skip');
  for (const name of ['cache', 'both']) writeFileSync(join(source, name, 'CACHEDIR.TAG'), `${CACHE_TAG}\n# comment`);
  writeFileSync(join(source, 'wrong/CACHEDIR.TAG'), CACHE_TAG.slice(0, -1));
  const listed: string[] = [];
  const onEntry = ({ path, reason }: BackupEntry): void => {
    if (reason !== undefined) listed.push(`${path.slice(source.length + 1)}: ${reason}`);
  };
  await repository.backup({ excludeCaches: true, excludeIfPresent: ['.skip', 'a:not this'], onEntry });
  const kept = [
    'both',
    'cache',
    'cache/CACHEDIR.TAG',
    'marked',
    'marked/.skip',
    'wrong',
    'wrong/CACHEDIR.TAG',
    'wrong/a',
  ];
  expect(await listPaths(repository)).toEqual(['source', ...kept.map((path) => `source/${path}`)]);
  expect(listed.filter((path) => path.startsWith('cache'))).toEqual(['cache/a: tag-file', 'cache/sub: tag-file']);
  await repository.backup({ sources: ['source/cache/a', 'source/cache/sub'], excludeCaches: true });
  expect(await listPaths(repository, { files: true })).toEqual(['a', 'sub/b']);
});

it.each(['', ':x', 'a/b', '/a:x'])('the tag file %j is refused', async (name) => {
  const repository = await makeTestRepository();
  await expect(repository.backup({ excludeIfPresent: [name] })).rejects.toThrow(UsageError);
});

it('larger files are left out, but not directories and sources', async () => {
  const repository = await makeTestRepository();
  const { source } = repository;
  writeFiles(source, 'sub/small', 'exact', 'large');
  truncateSync(join(source, 'sub/small'), 9);
  truncateSync(join(source, 'exact'), 10);
  truncateSync(join(source, 'large'), 11);
  await repository.backup({ excludeLargerThan: 10 });
  expect(await listPaths(repository, { files: true })).toEqual(['source/exact', 'source/sub/small']);
  await repository.backup({ sources: ['source/large', 'source/sub'], excludeLargerThan: 1 });
  expect(await listPaths(repository)).toEqual(['large', 'sub']);
});

it('what was named inside of another source is saved, whatever is excluded', async () => {
  const repository = await makeTestRepository();
  const { source } = repository;
  writeFiles(
    source,
    '.cache/a/b',
    '.cache/a/c',
    '.cache/d',
    'big',
    'ignored/a/b',
    'ignored/c',
    'plain/x',
    'tagged/a/b',
  );
  writeFileSync(join(source, '.ldmignore'), 'ignored/\nb\n');
  writeFileSync(join(source, 'tagged/.skip'), '');
  truncateSync(join(source, 'big'), 101);
  const sources = ['source', 'source/.cache/a/b', 'source/big', 'source/ignored/a', 'source/plain', 'source/tagged/a'];
  await repository.backup({
    sources,
    exclude: ['.cache', 'plain'],
    excludeIfPresent: ['.skip'],
    excludeLargerThan: 100,
  });
  const kept = ['.cache/a/b', '.ldmignore', 'big', 'ignored/a/b', 'plain/x', 'tagged/.skip', 'tagged/a/b'];
  expect(await listPaths(repository, { files: true })).toEqual(kept.map((path) => `source/${path}`));
});

/** Runs a script where it may mount. Returns undefined if this system does not allow that. */
function runWithMounts(script: string, home: string): string | undefined {
  const env = { PATH: process.env['PATH'], HOME: home };
  if (spawnSync('unshare', ['-m', 'sh', '-c', 'command -v mount']).status !== 0) return undefined;
  const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-ec', script], { encoding: 'utf8', env });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

it('one file system: mount points are saved as empty directories', async ({ skip }) => {
  const place = memoryDirectory();
  mkdirSync(join(place, 'data/sub/mounted'), { recursive: true });
  const script = `
    cd '${place}'
    mount -t tmpfs none data/sub/mounted
    echo a >data/sub/mounted/inside; mkdir data/sub/mounted/deeper; echo b >data/sub/beside
    ldm() { '${process.execPath}' '${ldmProgram}' -q -r repository "$@"; }
    ldm init --no-encryption
    ldm backup -x data
    ldm backup -x data data/sub/mounted
    ldm backup -x data/sub data/sub/mounted/deeper
    ldm backup data
    ldm backup -x data/sub/mounted`;
  const stdout = runWithMounts(script, place);
  skip(stdout === undefined, 'this system does not allow mounts');
  const without = ['data', 'data/sub', 'data/sub/beside', 'data/sub/mounted'];
  const listings: string[][] = [];
  for (const age of [4, 3, 2, 1, 0]) {
    const { stdout: names } = await runLdmHere(['-q', '-r', join(place, 'repository'), 'ls', `latest~${age}`]);
    listings.push(names.trim().split('\n').toSorted());
  }
  expect(listings).toEqual([
    without,
    [...without, 'data/sub/mounted/deeper', 'data/sub/mounted/inside'].toSorted(),
    ['sub', 'sub/beside', 'sub/mounted', 'sub/mounted/deeper'],
    [...without, 'data/sub/mounted/deeper', 'data/sub/mounted/inside'].toSorted(),
    ['mounted', 'mounted/deeper', 'mounted/inside'],
  ]);
});

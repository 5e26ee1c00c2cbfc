import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { BackupEntry, BackupOptions } from '../../../src/verbs/backup/backup.ts';
import { git, hasGit, ignoredByGit, randomIgnoreLine, randomIgnoredName } from '../../support/git-ignore.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';
import { listPaths, writeFiles } from '../../verbs/backup/source-tree.ts';

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

/** The paths below a directory as bytes in latin1, in order. Does not enter `.git`. */
function pathsIn(root: string, directory = ''): string[] {
  return readdirSync(bytesOf(`${root}/${directory}`), { withFileTypes: true, encoding: 'latin1' })
    .flatMap((entry) => {
      const path = `${directory}${entry.name}`;
      return entry.isDirectory() && entry.name !== '.git' ? [path, ...pathsIn(root, `${path}/`)] : [path];
    })
    .sort();
}

/** The paths that a backup saves below `source`, as bytes in latin1. What is in `.git` is left out of the list. */
async function savedPaths(repository: TestRepository, options: Partial<BackupOptions>): Promise<string[]> {
  const paths: string[] = [];
  const prefix = `${repository.source}/`;
  const onEntry = ({ path, change }: BackupEntry): void => {
    if (change !== 'excluded' && path.startsWith(prefix)) paths.push(path.slice(prefix.length));
  };
  await repository.backup({ dryRun: true, onEntry, ...options });
  return paths.filter((path) => !/(^|\/)\.git\//.test(path)).sort();
}

/** Ignore files in random directories of a work tree, with a repository in one of its directories. */
function makeWorkTree(root: string, prng: Prng): { readonly inner: string | undefined } {
  git(root, ['init', '-q']);
  for (let i = 0; i < 80; i += 1) {
    const names = Array.from({ length: 1 + prng.int(4) }, () => randomIgnoredName(prng));
    try {
      mkdirSync(bytesOf(`${root}/${names.slice(0, -1).join('/')}`), { recursive: true });
      writeFileSync(bytesOf(`${root}/${names.join('/')}`), '', { flag: 'wx' });
    } catch {
      // Another path has a file where this one needs a directory, or the other way round.
    }
  }
  const directories = pathsIn(root).filter((path) => path !== '.git' && isDirectory(`${root}/${path}`));
  for (const directory of ['', ...directories]) {
    if (directory !== '' && prng.int(3) > 0) continue;
    writeFileSync(bytesOf(`${root}/${directory}/.gitignore`), bytesOf(randomLines(prng)));
  }
  writeFileSync(join(root, '.git/info/exclude'), bytesOf(randomLines(prng)));
  const inner = directories.find((path) => /^[\x20-\x7e]+$/.test(path) && !/[\\*[]/.test(path));
  if (inner !== undefined) git(join(root, inner), ['init', '-q']);
  return { inner };
}

function isDirectory(path: string): boolean {
  try {
    readdirSync(bytesOf(path));
    return true;
  } catch {
    return false;
  }
}

function randomLines(prng: Prng): string {
  return `${Array.from({ length: 1 + prng.int(4) }, () => randomIgnoreLine(prng)).join('\n')}\n`;
}

/** What git does not ignore; the inner repository has rules of its own. */
function keptByGit(root: string, inner: string | undefined): string[] {
  const paths = pathsIn(root);
  const isInner = (path: string): boolean => inner !== undefined && path.startsWith(`${inner}/`);
  const ignored = ignoredByGit(
    root,
    paths.filter((path) => !isInner(path) && path !== '.git'),
  );
  const innerPaths = inner === undefined ? [] : pathsIn(join(root, inner)).filter((path) => path !== '.git');
  const innerIgnored = inner === undefined ? new Set() : ignoredByGit(join(root, inner), innerPaths);
  return paths.filter((path) => {
    if (!isInner(path)) return !ignored.has(path);
    return !ignored.has(inner!) && !innerIgnored.has(path.slice(inner!.length + 1));
  });
}

/** The configuration of this machine must not matter. */
beforeEach(() => {
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  vi.stubEnv('HOME', memoryDirectory());
  vi.stubEnv('XDG_CONFIG_HOME', undefined);
});
afterEach(() => vi.unstubAllEnvs());

describe('.ldmignore', () => {
  it('is read in every directory from the source down, unless it is turned off', async () => {
    const repository = await makeTestRepository();
    writeFiles(
      repository.source,
      'a.log',
      'sub/a.log',
      'sub/keep.log',
      'sub/tmp/x',
      'sub/deep/tmp',
      'tmp',
      '.gitignore',
    );
    writeFileSync(join(repository.source, '.gitignore'), '*');
    writeFileSync(join(repository.source, '.ldmignore'), '*.log\n');
    writeFileSync(join(repository.source, 'sub/.ldmignore'), '!keep.log\n/tmp/\n');
    writeFileSync(join(repository.directory, '.ldmignore'), '*');
    await repository.backup();
    const paths = [
      '.gitignore',
      '.ldmignore',
      'sub',
      'sub/.ldmignore',
      'sub/deep',
      'sub/deep/tmp',
      'sub/keep.log',
      'tmp',
    ];
    expect(await listPaths(repository)).toEqual(['source', ...paths.map((path) => `source/${path}`)]);
    await repository.backup({ ignoreFiles: false });
    expect(await listPaths(repository)).toHaveLength(13);
  });

  it('never hides a source', async () => {
    const repository = await makeTestRepository();
    writeFiles(repository.source, 'a', 'b/c', 'b/d');
    writeFileSync(join(repository.source, '.ldmignore'), '*\n');
    await repository.backup({ sources: ['source', 'source/a'] });
    expect(await listPaths(repository)).toEqual(['source', 'source/a']);
    await repository.backup({ sources: ['source/a', 'source/b'] });
    expect(await listPaths(repository)).toEqual(['a', 'b', 'b/c', 'b/d']);
  });

  it('may list what cannot be read, and is named if it cannot be read itself', async () => {
    const repository = await makeTestRepository();
    writeFiles(repository.source, 'open/closed/a', 'open/other', 'link/a');
    writeFileSync(join(repository.source, 'open/.ldmignore'), 'closed/\nother\n');
    symlinkSync('../open/.ldmignore', join(repository.source, 'link/.ldmignore'));
    giveToNobody(repository.directory);
    chmodSync(join(repository.source, 'open'), 0o400);
    const unreadable = await withoutPrivileges(async () => repository.backup());
    chmodSync(join(repository.source, 'open'), 0o700);
    expect(unreadable.problems.length).toBeGreaterThan(0);
    expect(repository.notices.filter(({ kind }) => kind === 'ignore-file-unreadable')).toHaveLength(2);
    chmodSync(join(repository.source, 'open/closed'), 0);
    const { problems } = await withoutPrivileges(async () => repository.backup());
    chmodSync(join(repository.source, 'open/closed'), 0o700);
    expect(problems).toEqual([]);
    writeFileSync(join(repository.source, '.ldmignore'), 'open/*\n');
    giveToNobody(join(repository.source, '.ldmignore'));
    chmodSync(join(repository.source, 'open'), 0o400);
    const ignoring = await withoutPrivileges(async () => repository.backup());
    chmodSync(join(repository.source, 'open'), 0o700);
    expect(ignoring.problems).toEqual([]);
  });
});

describe('--git-ignore', () => {
  beforeEach(({ skip }) => skip(!hasGit, 'git is not installed'));

  it.each(seedsOf(8, 200))('saves what git does not ignore (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const repository = await makeTestRepository();
    const { inner } = makeWorkTree(repository.source, prng);
    const expected = keptByGit(repository.source, inner);
    expect(await savedPaths(repository, { gitIgnore: true })).toEqual(expected);
    expect((await savedPaths(repository, {})).length).toBeGreaterThanOrEqual(expected.length);
  });

  it('keeps .git, whatever the patterns say, and overrides nothing that .ldmignore keeps', async () => {
    const repository = await makeTestRepository();
    git(repository.source, ['init', '-q']);
    writeFiles(repository.source, '.env', 'a', 'b', 'outside/x');
    writeFileSync(join(repository.source, '.gitignore'), '*\n.*\n.git\n');
    writeFileSync(join(repository.source, '.ldmignore'), '!.env\n');
    const saved = await savedPaths(repository, { gitIgnore: true });
    expect(saved).toEqual(['.env', '.git']);
    await repository.backup({ gitIgnore: true });
    expect(await listPaths(repository)).toContain('source/.git/HEAD');
    expect(await savedPaths(repository, { gitIgnore: true, ignoreFiles: false })).toEqual(['.git']);
  });

  it('counts in work trees only, also in a source inside of one', async () => {
    const repository = await makeTestRepository();
    writeFiles(repository.source, 'checkout/out/a', 'checkout/out/b', 'checkout/out/sub/c.o', 'plain/a.o');
    for (const name of ['plain', 'checkout'])
      writeFileSync(join(repository.source, name, '.gitignore'), '*.o\n/out/b\n');
    mkdirSync(join(repository.source, 'plain/.git'));
    git(join(repository.source, 'checkout'), ['init', '-q']);
    await repository.backup({ sources: ['source/checkout/out', 'source/plain'], gitIgnore: true });
    const files = await listPaths(repository, { files: true });
    expect(files).toEqual(['checkout/out/a', 'plain/.gitignore', 'plain/a.o']);
  });

  it('uses core.excludesFile of the user or the repository, and the default file', async () => {
    const repository = await makeTestRepository();
    const home = process.env['HOME']!;
    const { source } = repository;
    git(source, ['init', '-q']);
    writeFiles(source, 'a~', 'b.swp', 'c.tmp', 'd');
    writeFiles(home, '.config/git/ignore', 'mine', 'own');
    writeFileSync(join(home, '.config/git/ignore'), '*~\n');
    writeFileSync(join(home, 'mine'), '*.swp\n');
    writeFileSync(join(source, 'own'), '*.tmp\n');
    const saved = async (): Promise<string[]> => await savedPaths(repository, { gitIgnore: true });
    expect(await saved()).toEqual(['.git', 'b.swp', 'c.tmp', 'd', 'own']);
    git(home, ['config', '--global', 'core.excludesFile', '~/mine'], '', { HOME: home });
    expect(await saved()).toEqual(['.git', 'a~', 'c.tmp', 'd', 'own']);
    git(source, ['config', 'core.excludesFile', 'own']);
    expect(await saved()).toEqual(['.git', 'a~', 'b.swp', 'd', 'own']);
  });

  it('finds the repository of an additional work tree', async () => {
    const repository = await makeTestRepository();
    const main = join(repository.directory, 'main');
    mkdirSync(main);
    git(main, ['init', '-q']);
    git(main, ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'a']);
    writeFileSync(join(main, '.git/info/exclude'), '*.o\n');
    git(main, ['worktree', 'add', '-q', join(repository.source, 'tree')]);
    writeFiles(repository.source, 'tree/a.o', 'tree/a.c');
    expect(await savedPaths(repository, { gitIgnore: true })).toEqual(['tree', 'tree/.git', 'tree/a.c']);
  });
});

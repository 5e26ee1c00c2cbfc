import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { listPaths, writeFiles as write } from '../../verbs/backup/source-tree.ts';
import { ldmProgram } from '../../support/run-ldm.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { shownNotice } from '../../support/shown-notice.ts';

/** The names at the top of the newest snapshot's only root. */
async function savedNames(repository: TestRepository): Promise<string[]> {
  const paths = (await listPaths(repository)).map((path) => path.split('/').slice(1).join('/'));
  return paths.filter((path) => path !== '' && !path.includes('/'));
}

describe('the repository in its own source', () => {
  it('is left out without a warning, and is in the result', async () => {
    const repository = await makeTestRepository();
    write(repository.directory, 'beside');
    const { skippedRepositories, problems } = await repository.backup({ sources: [repository.directory] });
    const path = join(repository.directory, 'repository');
    expect(skippedRepositories).toEqual([{ path, isElsewhere: false }]);
    expect([problems, repository.notices]).toEqual([[], []]);
    expect(await savedNames(repository)).toEqual(['beside', 'source']);
  });

  it.each([
    ['whole', (): void => undefined],
    ['without config', (copy: string): void => rmSync(join(copy, 'config'))],
    [
      'without the directories that were empty',
      (copy: string): void => rmSync(join(copy, 'locks'), { recursive: true }),
    ],
  ])('is left out as a copy too, with a warning: %s', async (_, damage) => {
    const repository = await makeTestRepository();
    write(repository.source, 'a');
    await repository.backup();
    const copy = join(repository.source, 'copy');
    cpSync(join(repository.directory, 'repository'), copy, { recursive: true });
    damage(copy);
    const { skippedRepositories } = await repository.backup();
    expect(skippedRepositories).toEqual([{ path: copy, isElsewhere: true }]);
    expect(repository.notices.map(shownNotice)).toEqual([
      { kind: 'warning', message: expect.stringContaining(copy) as string },
    ]);
    expect(await savedNames(repository)).toEqual(['a']);
  });

  it('is an error where it was named', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a');
    const { problems } = await repository.backup({ sources: ['source', 'repository'] });
    const message = expect.stringContaining('is the repository of this backup') as string;
    expect(problems).toMatchObject([{ path: join(repository.directory, 'repository'), during: 'list', message }]);
    await expect(repository.backup({ sources: ['repository'] })).rejects.toMatchObject({ code: 'SOURCE' });
  });

  it.each([
    ['its packs', 'repository/packs'],
    ['a file', 'repository/config.bak'],
    ['a file that only some have', 'repository/recoveries'],
    ['a directory further down', 'repository/packs/00'],
    ['a link to its packs', 'to-packs'],
    ['something below a link', 'to-packs/00'],
    ['a part of a copy', 'copy/index'],
  ])('is an error if a part of it was named: %s', async (_, source) => {
    const repository = await makeTestRepository();
    const { directory } = repository;
    write(repository.source, 'a');
    mkdirSync(join(directory, 'repository/packs/00'), { recursive: true });
    symlinkSync('repository/packs', join(directory, 'to-packs'));
    write(join(directory, 'repository'), 'recoveries');
    cpSync(join(directory, 'repository'), join(directory, 'copy'), { recursive: true });
    await expect(repository.backup({ sources: [source] })).rejects.toMatchObject({ code: 'SOURCE' });
    expect(filesOf(repository, 'snapshots')).toEqual([]);
    const { problems } = await repository.backup({ sources: ['source', source] });
    const message = expect.stringContaining('is a part of the repository of this backup') as string;
    expect(problems).toMatchObject([{ path: join(directory, source), during: 'list', message }]);
    const saved = await listPaths(repository);
    expect(saved).toContain('source/a');
    expect(saved).not.toContain(source);
  });

  it('does not include what is beside its own files, nor parts of another repository', async () => {
    const repository = await makeTestRepository();
    const other = await makeTestRepository();
    write(repository.directory, 'repository/photos/a', 'locks/b');
    const sources = ['repository/photos', 'locks', join(other.directory, 'repository/config')];
    const { problems, summary } = await repository.backup({ sources });
    expect({ problems, files: summary.totalFilesProcessed }).toEqual({ problems: [], files: 3 });
  });

  it('is not another repository, nor what only looks like one', async () => {
    const repository = await makeTestRepository();
    const other = await makeTestRepository();
    cpSync(join(other.directory, 'repository'), join(repository.source, 'other'), { recursive: true });
    const config = readFileSync(join(repository.directory, 'repository', 'config'));
    for (const [name, content] of [
      ['damaged', config.subarray(0, -9)],
      ['long', Buffer.concat([config, Buffer.alloc(2 ** 20, ' ')])],
      ['git', Buffer.from('[core]\n')],
    ] as const) {
      mkdirSync(join(repository.source, name, 'packs'), { recursive: true });
      writeFileSync(join(repository.source, name, 'config'), content);
    }
    mkdirSync(join(repository.source, 'directory', 'config', 'packs'), { recursive: true });
    write(repository.source, 'directory/packs');
    const { skippedRepositories, problems } = await repository.backup();
    expect([skippedRepositories, problems]).toEqual([[], []]);
    expect(await savedNames(repository)).toEqual(['damaged', 'directory', 'git', 'long', 'other']);
  });
});

/** Runs the program on what an overlay mount shows, where this system allows one, otherwise on a copy. */
function backUpThroughOverlay(repository: TestRepository): { readonly stderr: string; readonly stdout: string } {
  const place = memoryDirectory();
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map((name) => join(place, name));
  for (const path of [lower, upper, work, merged]) mkdirSync(path!);
  cpSync(join(repository.directory, 'repository'), join(lower!, 'repository'), { recursive: true });
  write(lower!, 'beside');
  const script = [
    `mount -t overlay overlay -o 'lowerdir=${lower},upperdir=${upper},workdir=${work}' '${merged}' || cp -a '${lower}/.' '${merged}'`,
    `exec '${process.execPath}' '${ldmProgram}' -r '${lower}/repository' backup '${merged}' --json`,
  ].join('\n');
  const options = { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: place } } as const;
  const inside = spawnSync('unshare', ['-m', 'sh', '-c', script], options);
  return inside.status === 0 ? inside : spawnSync('sh', ['-c', script], options);
}

it('a repository is recognized through an overlay mount', async () => {
  const repository = await makeTestRepository();
  expect(filesOf(repository, 'snapshots')).toEqual([]);
  const { stdout, stderr } = backUpThroughOverlay(repository);
  expect(stderr).toContain('left out');
  const summary = stdout.split('\n').find((line) => line.includes('"summary"')) ?? '';
  expect(JSON.parse(summary)).toMatchObject({
    total_files_processed: 1,
    repositories_skipped: [expect.stringMatching(/merged\/repository$/)],
  });
});

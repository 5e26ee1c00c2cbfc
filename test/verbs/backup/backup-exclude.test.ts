import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';
import { listPaths, writeFiles as write } from './source-tree.ts';

describe('what is left out', () => {
  it('is the repository itself, wherever it lies in the source', async () => {
    const repository = await makeTestRepository();
    write(repository.directory, 'beside');
    for (let round = 0; round < 3; round += 1) {
      expect((await repository.backup({ sources: [repository.directory] })).problems).toEqual([]);
      const paths = (await listPaths(repository)).map((path) => path.split('/').slice(1).join('/'));
      expect(paths.filter((path) => path !== '')).toEqual(['beside', 'source']);
    }
  });

  it.each<[string, string[], string[]]>([
    ['a name, everywhere', ['node_modules'], ['a.log', 'keep.log', 'src', 'src/a.log', 'src/x.ts', 'top']],
    [
      'by ending, with an exception',
      ['*.log', '!keep.log'],
      [
        'keep.log',
        'node_modules',
        'node_modules/m',
        'src',
        'src/node_modules',
        'src/node_modules/n',
        'src/x.ts',
        'top',
      ],
    ],
    [
      'a name, whatever it is, where a slash follows',
      ['top/', 'src/'],
      ['a.log', 'keep.log', 'node_modules', 'node_modules/m'],
    ],
    ['below a directory', ['source/src/*'], ['a.log', 'keep.log', 'node_modules', 'node_modules/m', 'src', 'top']],
    [
      'a directory and what is below it',
      ['source/src/**'],
      ['a.log', 'keep.log', 'node_modules', 'node_modules/m', 'top'],
    ],
    ['everything', ['*'], []],
    [
      'nothing that another case spells',
      ['TOP', 'Src'],
      [
        'a.log',
        'keep.log',
        'node_modules',
        'node_modules/m',
        'src',
        'src/a.log',
        'src/node_modules',
        'src/node_modules/n',
        'src/x.ts',
        'top',
      ],
    ],
  ])('is what the patterns say, as in restic: %s', async (_, exclude, expected) => {
    const repository = await makeTestRepository();
    write(
      repository.source,
      'a.log',
      'keep.log',
      'top',
      'src/x.ts',
      'src/a.log',
      'src/node_modules/n',
      'node_modules/m',
    );
    await repository.backup({ exclude });
    expect(await listPaths(repository)).toEqual(['source', ...expected.map((path) => `source/${path}`)]);
  });

  it('is an absolute path, and one that lies elsewhere is nothing', async () => {
    const repository = await makeTestRepository();
    const [path] = write(repository.source, 'sub/a', 'a', 'sub/b');
    await repository.backup({ exclude: [path!, '/elsewhere/a'] });
    expect(await listPaths(repository)).toEqual(['source', 'source/a', 'source/sub', 'source/sub/b']);
  });

  it.each([
    ['the name of a root', ['source'], ['a', 'sub', 'sub/b']],
    ['the name of a directory above', ['above'], ['a', 'sub', 'sub/b']],
    ['the path of a root', ['/above/source/', 'sub'], ['a']],
    ['a star with an exception', ['*', '!a'], ['a']],
  ])('is never what was named itself: %s', async (_, exclude, expected) => {
    const repository = await makeTestRepository();
    write(repository.directory, 'above/source/a', 'above/source/sub/b', 'beside');
    const sources = ['above/source', 'beside'];
    const absolute = exclude.map((pattern) => (pattern.startsWith('/') ? repository.directory + pattern : pattern));
    await repository.backup({ sources, exclude: absolute });
    const roots = ['above', 'above/source', ...expected.map((path) => `above/source/${path}`), 'beside'];
    expect(await listPaths(repository)).toEqual(roots);
  });

  it('is also what has the name of a root and lies below it', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a', 'source/b');
    await repository.backup({ exclude: ['source'] });
    expect(await listPaths(repository)).toEqual(['source', 'source/a']);
  });

  it.each([[[]], [['beside']], [['/etc/passwd']]])('does not depend on what else is saved: %j', async (others) => {
    const repository = await makeTestRepository();
    write(repository.directory, 'me/mail/cur/1', 'me/mail/new/2', 'beside');
    await repository.backup({ sources: ['me/mail', ...others], exclude: ['mail/cur'] });
    const paths = (await listPaths(repository, { files: true })).map((path) => path.split('/').at(-1));
    expect(paths).toContain('2');
    expect(paths).not.toContain('1');
  });

  it('is reported where a pattern matches nothing', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a', 'sub/b');
    const exclude = ['sub', 'typo', '/elsewhere', '!sub/b', 'source'];
    const { excludesUnmatched } = await repository.backup({ exclude });
    expect(excludesUnmatched).toEqual(['typo', '/elsewhere', '!sub/b', 'source']);
  });

  it('is not looked at', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a', 'closed/b');
    giveToNobody(repository.directory);
    // It can be listed, but nothing is known of what is in it.
    chmodSync(join(repository.source, 'closed'), 0o400);
    const { problems } = await withoutPrivileges(async () => repository.backup({ exclude: ['closed/b'] }));
    chmodSync(join(repository.source, 'closed'), 0o700);
    expect(problems).toEqual([]);
  });

  it('is in the manifest, unless the list of patterns is long or the source a stream', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a');
    const { snapshot } = await repository.backup({ exclude: ['*.log', '!b'], iexclude: ['CACHE'] });
    expect(snapshot).toMatchObject({ excludes: ['*.log', '!b'], iexcludes: ['CACHE'] });
    const long = (
      await repository.backup({ exclude: Array.from({ length: 7000 }, (_, index) => `no-${index}.tmp`), iexclude: [] })
    ).snapshot;
    const stream = { path: 'b', content: (async function* content(): AsyncGenerator<Uint8Array> {})() };
    const streamed = (await repository.backup({ exclude: ['b'], sources: [], stream })).snapshot;
    for (const each of [long, streamed]) expect([each.excludes, each.iexcludes]).toEqual([undefined, undefined]);
    const [listed] = await listSnapshots(repository.context, {});
    expect(listed!.snapshot).toEqual(snapshot);
  });

  it('is refused before anything happens where a pattern is malformed', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a');
    await expect(repository.backup({ exclude: ['[a'] })).rejects.toThrow(UsageError);
    expect(filesOf(repository, 'snapshots')).toEqual([]);
  });

  it('does not stumble over odd names', async () => {
    const repository = await makeTestRepository();
    const names = ['...', ' ', '..a', '!x', '#y', 'a\\b', '\n', '[', '*'];
    write(repository.source, ...names);
    writeFileSync(Buffer.concat([Buffer.from(`${repository.source}/`), Buffer.of(0xff)]), 'x');
    expect((await repository.backup({ exclude: ['nothing', '*.log'] })).problems).toEqual([]);
    await repository.expectRestored();
  });
});

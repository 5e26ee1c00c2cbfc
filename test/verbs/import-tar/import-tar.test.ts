import { describe, expect, it } from 'vitest';

import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import { contents, entryAt, importMembers } from '../../support/imported-archive.ts';
import { createPrng } from '../../support/prng.ts';
import { bs, encodeSample, sampleArchive } from '../../support/tar-archive.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';

describe('the names of an archive', () => {
  it('may lack the directories above, and start with / or ./', async () => {
    const repository = await makeTestRepository();
    const members = [
      { path: 'a/b/one', content: '1' },
      { path: '/a/b/two', content: '2' },
      { path: './a//./three', content: '3' },
    ];
    const { problems } = await importMembers(repository, members, { time: '2020-01-02T03:04:05Z' });
    expect(problems).toEqual([]);
    expect(await contents(repository)).toEqual({ b: 'directory', 'b/one': '1', 'b/two': '2', three: '3' });
    expect(await entryAt(repository, 'b')).toMatchObject({ mode: 0o755, uid: 0, mtimeSeconds: 1_577_934_245 });
    await repository.expectClean();
  });

  it('may come in any order: a directory after what is in it', async () => {
    const repository = await makeTestRepository();
    await importMembers(repository, [
      { path: 'a/z', content: 'z' },
      { path: 'a/', type: 'directory', mode: 0o700 },
      { path: 'a/b', content: 'b' },
    ]);
    expect(await contents(repository)).toEqual({ 'a/b': 'b', 'a/z': 'z', a: 'directory' });
    expect(await entryAt(repository, 'a')).toMatchObject({
      mode: 0o700,
      uid: 7,
      gid: 8,
      mtimeSeconds: 1000,
      mtimeNanoseconds: 5,
    });
  });

  it('may repeat: the last one counts', async () => {
    const repository = await makeTestRepository();
    const { summary } = await importMembers(repository, [
      { path: 'a', content: 'old' },
      { path: 'b', content: 'file' },
      { path: 'c', type: 'directory' },
      { path: 'a', content: 'new' },
      { path: 'b', type: 'directory' },
      { path: 'c', type: 'symlink', linkTarget: bs('a') },
    ]);
    expect(await contents(repository)).toEqual({ a: 'new', b: 'directory', c: 'a' });
    expect(summary).toMatchObject({ filesNew: 1, totalFilesProcessed: 1, totalBytesProcessed: 3, dirsNew: 1 });
  });

  it.each([
    ['../x', 'its name contains ..'],
    ['a/../../x', 'its name contains ..'],
    [`a/${'x'.repeat(256)}`, 'a part of its name has 256 bytes, and no name has more than 255'],
    ['file/x', 'file is in the archive too, and is not a directory'],
  ])('that no entry can have are left out and reported: %s', async (path, reason) => {
    const repository = await makeTestRepository();
    const { problems } = await importMembers(repository, [
      { path: 'file', content: 'f' },
      { path, content: 'evil' },
    ]);
    expect(problems).toEqual([{ path, during: 'import', message: `cannot import ${path}: ${reason}` }]);
    expect(await contents(repository)).toEqual({ file: 'f' });
    await repository.expectClean();
  });

  it('never lose a directory that has entries', async () => {
    const repository = await makeTestRepository();
    const { problems } = await importMembers(repository, [
      { path: 'a/x', content: 'x' },
      { path: 'a', content: 'file' },
    ]);
    expect(problems.map(({ message }) => message)).toEqual([
      'cannot import a: a directory of this name is in the archive too, and is not empty',
    ]);
    expect(await contents(repository)).toEqual({ x: 'x' });
  });
});

describe('a hard link', () => {
  it('is another name of its target, which may come later', async () => {
    const repository = await makeTestRepository();
    await importMembers(repository, [
      { path: 'd/early', type: 'hardlink', linkTarget: bs('d/file') },
      { path: 'd/file', content: 'abc' },
      { path: 'late', type: 'hardlink', linkTarget: bs('./d/file') },
      { path: 'other', content: 'abc' },
    ]);
    expect(await contents(repository)).toEqual({
      d: 'directory',
      'd/early': 'abc',
      'd/file': 'abc',
      late: 'abc',
      other: 'abc',
    });
    const entries = await Promise.all(
      ['d/early', 'd/file', 'late', 'other'].map(async (path) => entryAt(repository, path)),
    );
    expect(entries.map(({ hardlink }) => hardlink?.linkCount)).toEqual([3, 3, 3, undefined]);
    expect(new Set(entries.slice(0, 3).map(({ inode }) => inode)).size).toBe(1);
  });

  it('keeps the content of a target that is replaced afterwards', async () => {
    const repository = await makeTestRepository();
    await importMembers(repository, [
      { path: 'a', content: 'first' },
      { path: 'b', type: 'hardlink', linkTarget: bs('a') },
      { path: 'a', content: 'second' },
      { path: 'b', type: 'hardlink', linkTarget: bs('b') },
    ]);
    expect(await contents(repository)).toEqual({ a: 'second', b: 'first' });
    expect((await entryAt(repository, 'b')).hardlink).toBeUndefined();
  });

  it('is replaced by a later entry of its name, also if its target comes after that', async () => {
    const repository = await makeTestRepository();
    const { problems } = await importMembers(repository, [
      { path: 'd/b', type: 'hardlink', linkTarget: bs('d/a') },
      { path: 'd/l', type: 'hardlink', linkTarget: bs('d/a') },
      { path: 'd/s', type: 'hardlink', linkTarget: bs('d/a') },
      { path: './d//b', content: 'later' },
      { path: 'd/l', type: 'hardlink', linkTarget: bs('d/b') },
      { path: 'd/s', type: 'symlink', linkTarget: bs('x') },
      { path: 'd/a', content: 'first' },
    ]);
    expect(problems).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'first', b: 'later', l: 'later', s: 'x' });
  });

  it('may be the target of other links, in any order', async () => {
    const repository = await makeTestRepository();
    const links = ['e>d', 'c>b', 'b>a', 'd>c', 'x>y', 'y>x'].map((text) => ({
      path: text[0]!,
      type: 'hardlink' as const,
      linkTarget: bs(text[2]!),
    }));
    const { problems } = await importMembers(repository, [...links, { path: 'a', content: 'it' }]);
    expect(await contents(repository)).toEqual({ a: 'it', b: 'it', c: 'it', d: 'it', e: 'it' });
    expect((await entryAt(repository, 'e')).hardlink).toMatchObject({ linkCount: 5 });
    expect(problems.map(({ message }) => message)).toEqual([
      'cannot import x: the archive does not have y, of which it is a hard link',
      'cannot import y: the archive does not have x, of which it is a hard link',
    ]);
    await repository.expectClean();
  });

  it('without a target is left out and reported', async () => {
    const repository = await makeTestRepository();
    const { problems } = await importMembers(repository, [
      { path: 'a' },
      { path: 'b', type: 'hardlink', linkTarget: bs('gone') },
    ]);
    expect(problems.map(({ message }) => message)).toEqual([
      'cannot import b: the archive does not have gone, of which it is a hard link',
    ]);
  });
});

describe('an archive', () => {
  it.each([
    ['is empty', Buffer.alloc(0), 'the archive is empty'],
    ['has no entries', sampleArchive([]), 'the archive has no entries that can be imported'],
    ['is something else', Buffer.alloc(2000, 'x'), 'the input is not a tar archive'],
    ['has no end', encodeSample({ path: 'a', content: 'x' }), 'the archive is incomplete: it has no end'],
    [
      'ends in a file',
      encodeSample({ path: 'a', content: 'x'.repeat(5000) }).subarray(0, 3000),
      'the archive ends in the middle of an entry',
    ],
    [
      'has a damaged header',
      Buffer.concat([encodeSample({ path: 'a', content: 'x' }), Buffer.alloc(1024, 1)]),
      'is damaged',
    ],
  ])('that %s makes no snapshot', async (_, archive, message) => {
    const repository = await makeTestRepository();
    await expect(importTar(repository.context, { archive: [archive] })).rejects.toThrow(message);
    await expect(contents(repository)).rejects.toThrow('no snapshots');
    await repository.expectClean();
  });

  it('that ends with an error of its source makes no snapshot', async () => {
    const repository = await makeTestRepository();
    const archive = (async function* () {
      yield encodeSample({ path: 'a', content: 'x' });
      throw new Error('the pipe broke');
    })();
    await expect(importTar(repository.context, { archive })).rejects.toThrow('the pipe broke');
    await expect(contents(repository)).rejects.toThrow('no snapshots');
  });

  it('can be interrupted while its source has nothing to read', async () => {
    const repository = await makeTestRepository();
    const abort = new AbortController();
    const archive = {
      [Symbol.asyncIterator]: () => ({
        next: async (): Promise<never> => {
          setImmediate(() => abort.abort());
          return await new Promise<never>(() => undefined);
        },
      }),
    };
    await expect(importTar({ ...repository.context, signal: abort.signal }, { archive })).rejects.toThrow();
    await repository.expectClean();
  });

  it('shares chunks with a backup of the same files', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const content = createPrng(7).bytes(100_000).toString('latin1');
    await importMembers(repository, [{ path: 'one', content }]);
    const { summary } = await importMembers(repository, [
      { path: 'two', content },
      { path: 'three', content: `new${content}` },
    ]);
    expect(summary.dataBlobs).toBeLessThan(5);
  });

  it('stores nothing in a dry run', async () => {
    const repository = await makeTestRepository();
    const { snapshotId, summary } = await importMembers(repository, [{ path: 'a', content: 'x' }], { dryRun: true });
    expect([snapshotId, summary.totalFilesProcessed]).toEqual([undefined, 1]);
    await expect(contents(repository)).rejects.toThrow('no snapshots');
  });
});

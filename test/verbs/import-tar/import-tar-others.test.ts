import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import type { ImportTarOptions } from '../../../src/verbs/import-tar/import-tar.ts';
import { contents, entryAt } from '../../support/imported-archive.ts';
import { bs, extendedHeader, oddMember, sampleArchive } from '../../support/tar-archive.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

// Forms of archives that the tests of libarchive, Go, Python, Commons Compress and Erlang have.

async function importBytes(
  { context }: TestRepository,
  archive: readonly Uint8Array[],
  options: Partial<ImportTarOptions> = {},
): Promise<string[]> {
  const { problems } = await importTar(context, { archive, ...options });
  return problems.map(({ message }) => message);
}

const file = (path: string, content: string): Buffer => oddMember({ path, content }, {});
const a = file('a', 'first');
const end = sampleArchive([]);
const header = (letter: string): Buffer => oddMember({ path: 'label' }, { type: letter });

describe('a damaged extended header', () => {
  it.each(['x', 'g'] as const)('of type %s costs what is behind the damage, and not the content', async (type) => {
    const repository = await makeTestRepository();
    const records = extendedHeader('11 mtime=9\n99 uid=5\n', type);
    expect(await importBytes(repository, [records, file('f', 'x'), a, end])).toEqual([
      'imported without a part of its extended header: it is damaged',
    ]);
    expect(await contents(repository)).toEqual({ a: 'first', f: 'x' });
    expect(await entryAt(repository, 'f')).toMatchObject({ mtimeSeconds: 9, uid: 7 });
  });

  it('is not one that is padded with zeros', async () => {
    const repository = await makeTestRepository();
    expect(await importBytes(repository, [extendedHeader('11 mtime=9\n\0\0\0'), a, end])).toEqual([]);
    expect(await entryAt(repository, 'a')).toMatchObject({ mtimeSeconds: 9 });
  });
});

it('a part of a file in one of several volumes is reported as one', async () => {
  const repository = await makeTestRepository();
  const records = [
    ['GNU.volume.filename', bs('b')],
    ['GNU.volume.size', bs('5')],
    ['GNU.volume.offset', bs('3')],
  ] as const;
  const archive = [extendedHeader(records, 'g'), file('GNUFileParts/b.2', 'nd'), a, end];
  const { problems } = await importTar(repository.context, { archive });
  expect(problems).toEqual([
    { path: 'GNUFileParts/b.2', during: 'import', message: 'imported as a part of b: the rest is in other volumes' },
  ]);
  expect(await contents(repository)).toMatchObject({ a: 'first', 'GNUFileParts/b.2': 'nd' });
});

describe('a directory that is a file with a slash at the end of its name', () => {
  const old = (name: string): Buffer => oddMember({ path: 'd' }, { name, magic: '', size: '00000000001' });

  it('has no content, whatever its size is', async () => {
    const repository = await makeTestRepository();
    expect(await importBytes(repository, [old('d/'), a, old('e/'), end])).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'first', d: 'directory', e: 'directory' });
  });
});

describe('the end of an archive', () => {
  it.each([
    ['a label', header('V')],
    ['a global header', extendedHeader([['comment', bs('x')]], 'g')],
    ['the extended header of no member', extendedHeader([['comment', bs('x')]])],
  ])('may come after %s', async (_, last) => {
    const repository = await makeTestRepository();
    expect(await importBytes(repository, [a, last, end])).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'first' });
    await expect(importBytes(repository, [last, end])).rejects.toThrow('has no entries that can be imported');
  });

  it('may be missing after a label, on request only', async () => {
    const repository = await makeTestRepository();
    await expect(importBytes(repository, [a, header('V')])).rejects.toThrow('has no end');
    expect(await importBytes(repository, [a, header('V')], { acceptsAnyEnd: true })).toEqual([]);
  });

  it('must not be missing after the extended header of an archive behind another one', async () => {
    const bytes = [a, end, extendedHeader([['path', bs('x')]])];
    const refused = importBytes(await makeTestRepository(), bytes, { ignoresZeros: true });
    await expect(refused).rejects.toThrow('in the middle of an entry');
  });
});

describe('a refused archive', () => {
  const largest = `\x80${'\xff'.repeat(11)}`;
  it.each([
    ['a size below 0', [a, oddMember({ path: 'f' }, { size: '-17' })], 'the size of f cannot be used: -15 is below 0'],
    ['a size too large', [oddMember({ path: 'f' }, { size: largest })], /^the size of f .* is too large a number$/],
    ['a size of no entry', [oddMember({ path: '' }, { size: 'x' })], 'the size of an entry cannot be used: "x" is not'],
    ['a first header that is damaged', [Buffer.from(a).fill(1, 0, 1), end], 'the header at offset 0 is damaged'],
    ['no header', [Buffer.from('text')], 'the input is not a tar archive'],
    ['a few compressed bytes', [Buffer.from('\x1f\x9d\x90zy', 'latin1')], 'is compressed with compress'],
  ])('has %s, which the message says', async (_, bytes, message) => {
    await expect(importBytes(await makeTestRepository(), bytes)).rejects.toThrow(message);
  });

  const gzip = gzipSync(Buffer.concat([a, end]));
  const wrongSum = gzipSync(a);
  wrongSum[wrongSum.length - 8]! ^= 1;
  it.each([
    ['ends early', gzip.subarray(0, gzip.length - 20), 'its compressed data ends early'],
    ['has a wrong sum', wrongSum, 'the archive cannot be decompressed with gzip'],
    ['is followed by other data', Buffer.concat([gzip, Buffer.from('junk')]), 'other data follows the compressed data'],
  ])('whose compressed data %s is never accepted', async (_, bytes, message) => {
    const refused = importBytes(await makeTestRepository(), [bytes], { acceptsAnyEnd: true });
    await expect(refused).rejects.toThrow(message);
  });
});

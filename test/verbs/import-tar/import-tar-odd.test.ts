import { describe, expect, it } from 'vitest';

import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import { contents, entryAt } from '../../support/imported-archive.ts';
import { bs, extendedHeader, oddMember, sampleArchive } from '../../support/tar-archive.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function messagesOf({ context }: TestRepository, members: readonly Buffer[]): Promise<string[]> {
  const last = sampleArchive([{ path: 'last', content: 'z' }]);
  const { problems } = await importTar(context, { archive: [...members, last] });
  return problems.map(({ message }) => message);
}

/** A member after an extended header with one record. */
function withRecord(path: string, key: string, value: string): Buffer {
  return Buffer.concat([extendedHeader([[key, bs(value)]]), oddMember({ path, content: 'x' }, {})]);
}

describe('metadata that is impossible', () => {
  it.each([
    [
      'a user of -1',
      oddMember({ path: 'f', content: 'x' }, { uid: '\xff'.repeat(8) }),
      'with the user 65534: -1 is not the number of a user',
      { uid: 65_534, gid: 8 },
    ],
    [
      'a large user',
      withRecord('f', 'uid', '5000000000'),
      'with the user 65534: 5000000000 is not the number of a user',
      { uid: 65_534 },
    ],
    [
      'a group of -1 without a sign',
      withRecord('f', 'gid', '4294967295'),
      'with the group 65534: 4294967295 is not the number of a group',
      { gid: 65_534 },
    ],
    [
      'a huge group',
      withRecord('f', 'gid', '9'.repeat(80)),
      `with the group 65534: "${'9'.repeat(60)}..." is too large a number`,
      { gid: 65_534 },
    ],
    [
      'a set-uid bit of no user',
      oddMember({ path: 'f', content: 'x' }, { uid: 'me', mode: '0006755' }),
      'with the user 65534: "me" is not a number',
      { mode: 0o2755 },
    ],
    [
      'a mode of letters',
      oddMember({ path: 'f', content: 'x' }, { mode: 'rw-r--r' }),
      'with the mode 600: "rw-r--r" is not a number',
      { mode: 0o600 },
    ],
    ['no time', withRecord('f', 'mtime', 'nan'), 'with the time 1970-01-01: "nan" is not a time', { mtimeSeconds: 5 }],
    [
      'a time too far',
      withRecord('f', 'mtime', '1'.repeat(30)),
      `with the time 1970-01-01: "${'1'.repeat(30)}" is too far a time`,
      { mtimeSeconds: 5 },
    ],
    [
      'a time of letters',
      oddMember({ path: 'f', content: 'x' }, { mtime: 'yesterday' }),
      'with the time 1970-01-01: "yesterday" is not a number',
      { mtimeSeconds: 0 },
    ],
    [
      'no change time',
      withRecord('f', 'ctime', '-'),
      'without its change time: "-" is not a time',
      { ctimeSeconds: 5 },
    ],
  ])('such as %s costs neither the content nor the other metadata', async (_, member, change, expected) => {
    const repository = await makeTestRepository();
    expect(await messagesOf(repository, [member])).toEqual([`imported ${change}`]);
    expect(await contents(repository)).toEqual({ f: 'x', last: 'z' });
    expect(await entryAt(repository, 'f')).toMatchObject(expected);
    await repository.expectClean();
  });

  it('such as attributes and owners that no system has is left out', async () => {
    const repository = await makeTestRepository();
    const members = [
      withRecord('value', 'SCHILY.xattr.user.a', 'y'.repeat(70_000)),
      withRecord('name', `SCHILY.xattr.${'n'.repeat(300)}`, 'y'),
      withRecord('owner', 'uname', 'me\0you'),
    ];
    expect(await messagesOf(repository, members)).toEqual([
      'imported without an extended attribute: its value has 70000 bytes',
      'imported without an extended attribute: its name is empty or too long',
    ]);
    expect(await entryAt(repository, 'owner')).toMatchObject({ uid: 7, user: '' });
    await repository.expectClean();
  });
});

describe('the numbers of a header', () => {
  it.each([
    ['with blanks before and after', { uid: '   17 \0', gid: ' 17    ' }],
    ['without a byte 0 at the end', { uid: '00000017', gid: '00000017' }],
    ['with a byte 0 in place of the first digit', { uid: '\x00000017', gid: '\x0000017\0' }],
    ['with anything after a byte 0 or a blank', { uid: '17\0xyz', gid: '17 xyz' }],
    ['in base 256', { uid: '\x80\0\0\0\0\0\0\x0f', gid: '\x80\0\0\0\0\0\0\x0f' }],
  ])('are read %s', async (_, fields) => {
    const repository = await makeTestRepository();
    expect(await messagesOf(repository, [oddMember({ path: 'f' }, fields)])).toEqual([]);
    expect(await entryAt(repository, 'f')).toMatchObject({ uid: 15, gid: 15 });
  });

  it.each([
    ['0000000000000000000000005', 5, 0],
    [' +5', 5, 0],
    ['5.', 5, 0],
    ['.5', 0, 500_000_000],
    ['-.5', -1, 500_000_000],
    ['1e-05', 0, 10_000],
  ])('may have any form in an extended one: %s', async (mtime, mtimeSeconds, mtimeNanoseconds) => {
    const repository = await makeTestRepository();
    expect(await messagesOf(repository, [withRecord('f', 'mtime', mtime)])).toEqual([]);
    expect(await entryAt(repository, 'f')).toMatchObject({ mtimeSeconds, mtimeNanoseconds });
  });

  it('may be signed: -2 is nobody', async () => {
    const repository = await makeTestRepository();
    const members = [oddMember({ path: 'f' }, { uid: `${'\xff'.repeat(7)}\xfe` }), withRecord('g', 'uid', '-2')];
    expect(await messagesOf(repository, members)).toEqual([]);
    expect(await entryAt(repository, 'f')).toMatchObject({ uid: 2 ** 32 - 2 });
    expect(await entryAt(repository, 'g')).toMatchObject({ uid: 2 ** 32 - 2 });
  });
});

describe('an archive', () => {
  it.each([
    [
      'a name of a directory and content',
      oddMember({ path: 'f', content: 'x' }, { name: 'f/' }),
      'f/: it has the name of a directory, but is a file',
    ],
    ['no name', oddMember({ path: 'f' }, { name: '' }), 'an entry: it has no name'],
    ['a byte 0 in its name', withRecord('f', 'path', 'a\0b'), 'a\0b: its name contains a byte 0'],
    [
      'an impossible number of a device',
      oddMember({ path: 'f', type: 'block-device' }, { deviceMajor: 'sda' }),
      'f: "sda" is not a number',
    ],
    [
      'a damaged map of holes',
      Buffer.concat([
        extendedHeader([
          ['GNU.sparse.size', bs('9')],
          ['GNU.sparse.map', bs('7,x')],
        ]),
        oddMember({ path: 'f', content: 'x'.repeat(700) }, {}),
      ]),
      'f: "x" is not a number',
    ],
    [
      'a target with a byte 0',
      Buffer.concat([
        extendedHeader([['linkpath', bs('a\0b')]]),
        oddMember({ path: 'f', type: 'symlink', linkTarget: bs('a') }, {}),
      ]),
      'f: its target contains a byte 0',
    ],
  ])('with a member that has %s keeps the others', async (_, member, problem) => {
    const repository = await makeTestRepository();
    expect(await messagesOf(repository, [member])).toEqual([`cannot import ${problem}`]);
    expect(await contents(repository)).toEqual({ last: 'z' });
    await repository.expectClean();
  });

  it('of endless zeros is empty, and one with endless zeros behind it ends', async () => {
    const repository = await makeTestRepository();
    const block = Buffer.alloc(1024 * 1024);
    const zeros = function* (beginning: Buffer): Generator<Buffer> {
      yield beginning;
      for (;;) yield block;
    };
    const importing = importTar(repository.context, { archive: zeros(Buffer.alloc(0)) });
    await expect(importing).rejects.toThrow('the archive has no entries that can be imported');
    await importTar(repository.context, { archive: zeros(sampleArchive([{ path: 'a', content: 'x' }])) });
    expect(await contents(repository)).toEqual({ a: 'x' });
  });
});

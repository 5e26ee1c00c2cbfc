import { describe, expect, it } from 'vitest';

import { formatAcl } from '../../../src/core/format/tar/acl-text.ts';
import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import type { ImportTarOptions } from '../../../src/verbs/import-tar/import-tar.ts';
import { entryAt, importMembers } from '../../support/imported-archive.ts';
import { bs, extendedHeader, oddMember, sampleArchive } from '../../support/tar-archive.ts';
import type { SampleMember } from '../../support/tar-archive.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

describe('the recorded paths', () => {
  const members: readonly SampleMember[] = [
    { path: 'home/', type: 'directory' },
    { path: 'home/me/', type: 'directory' },
    { path: 'home/me/data/', type: 'directory' },
    { path: 'home/me/data/x', content: 'x' },
  ];

  it.each<[string, readonly SampleMember[], Partial<ImportTarOptions>, string, string[], string]>([
    ['are the outermost entries', members, {}, '/', ['/home'], 'home/me/data/x'],
    [
      'are the outermost entries, not the directories above them',
      members.slice(2),
      {},
      '/home/me',
      ['/home/me/data'],
      'data/x',
    ],
    ['are those that are given', members, { paths: ['/home/me/data'] }, '/home/me', ['/home/me/data'], 'data/x'],
    [
      'start from the base',
      [{ path: './', type: 'directory' }, { path: './x' }],
      { base: '/srv/www' },
      '/srv',
      ['/srv/www'],
      'www/x',
    ],
    [
      'are the directory above a lot of entries',
      Array.from({ length: 200 }, (_, i) => ({ path: `d/${i}` })),
      {},
      '/',
      ['/d'],
      'd/7',
    ],
  ])('%s', async (_, given, options, base, paths, path) => {
    const repository = await makeTestRepository();
    const { snapshot } = await importMembers(repository, given, options);
    expect(snapshot).toMatchObject({ base, paths });
    expect((await entryAt(repository, path)).type).toBe('file');
  });

  it('must contain everything in the archive, and be in it', async () => {
    const repository = await makeTestRepository();
    const archive = [...members, { path: 'etc/passwd' }];
    await expect(importMembers(repository, archive, { paths: ['/home/me'] })).rejects.toThrow(
      'the archive has /etc/passwd, which is not below',
    );
    await expect(importMembers(repository, members, { paths: ['/home/you'] })).rejects.toThrow(
      'the archive has no /home/you',
    );
    const relative = [{ path: 'me/', type: 'directory' as const }];
    await expect(importMembers(repository, relative, { paths: ['/home/me'] })).rejects.toMatchObject({
      advice: { code: 'import-from-base', subject: '/home' },
    });
  });

  it('come with the host, time and tags that are given', async () => {
    const repository = await makeTestRepository();
    const given = { hostname: 'tower', tags: ['a', 'b'], time: '2020-01-02T03:04:05+01:00' };
    const { snapshot } = await importMembers(repository, members, given);
    expect(snapshot).toMatchObject({ hostname: 'tower', tags: ['a', 'b'], time: '2020-01-02T02:04:05.000Z' });
  });
});

describe('the metadata of an entry', () => {
  it('includes attributes, ACLs and holes', async () => {
    const repository = await makeTestRepository();
    const runs = [
      { offset: 4096, lengthBytes: 3 },
      { offset: 8192, lengthBytes: 2 },
    ];
    const attributes = [
      { name: bs('user.b'), value: Buffer.from('\0\xff=', 'latin1') },
      { name: bs('user.a=%3D'), value: Buffer.from('') },
    ];
    await importMembers(repository, [
      {
        path: 'f',
        content: 'abcde',
        sizeBytes: 20_000,
        dataRuns: runs,
        attributes,
        accessAcl: bs('user::rw-,user:bin:r--:77,group::r--,mask::r--,other::---'),
      },
    ]);
    const { xattrs, holes, sizeBytes } = await entryAt(repository, 'f');
    expect([...holes]).toEqual([0, 4096, 4099, 8192, 8194, 20_000]);
    expect(sizeBytes).toBe(20_000);
    expect(xattrs.map(({ name, value }) => [name, Buffer.from(value).toString('hex')])).toEqual([
      [
        'system.posix_acl_access',
        '0200000001000600ffffffff020004004d00000004000400ffffffff10000400ffffffff20000000ffffffff',
      ],
      ['user.a=%3D', ''],
      ['user.b', '00ff3d'],
    ]);
  });

  it.each([
    ['user::rwx,group::r--,other::---,user:12345:rw-,mask::rw-', 0o2760],
    ['user::rw-,group::r--,other::r--', 0o2640],
  ])('has the mask of an ACL in its mode, as in the file system: %s', async (acl, mode) => {
    const repository = await makeTestRepository();
    // bsdtar writes the permissions of the group.
    await importMembers(repository, [{ path: 'f', mode: 0o2640, accessAcl: bs(acl) }]);
    expect((await entryAt(repository, 'f')).mode).toBe(mode);
  });

  it('includes the text of an ACL of somebody who is not on this machine', async () => {
    const repository = await makeTestRepository();
    const accessAcl = bs('user::rw-,user:no-such-user:r--,group::r--,mask::rw-,other::---');
    const { problems } = await importMembers(repository, [{ path: 'f', accessAcl }]);
    expect(problems.map(({ message }) => message)).toEqual([
      'imported with its ACL as text, in the attribute user.SCHILY.acl.access: this machine has no user no-such-user',
    ]);
    const { xattrs } = await entryAt(repository, 'f');
    expect(xattrs.map(({ name, value }) => [name, formatAcl(value) ?? Buffer.from(value).toString()])).toEqual([
      ['system.posix_acl_access', 'user::rw-,group::r--,mask::rw-,other::---'],
      ['user.SCHILY.acl.access', accessAcl],
    ]);
  });

  it('includes the text of an ACL of another kind, and the ACLs of Solaris', async () => {
    const repository = await makeTestRepository();
    const ace = bs('owner@:rw-p--aARWcCos:-------:allow');
    const solaris = '1000005\0user::rw-,user:lisa:r--:7,group::r--,mask:r--,other:---';
    const archive = [
      extendedHeader([['SCHILY.acl.ace', ace]]),
      oddMember({ path: 'nfs' }, {}),
      oddMember({ path: 'acl', content: solaris }, { type: 'A' }),
      oddMember({ path: 'solaris' }, {}),
      sampleArchive([]),
    ];
    const { problems } = await importTar(repository.context, { archive });
    expect(problems.map(({ message }) => message)).toEqual([
      'imported with its ACL as text, in the attribute user.SCHILY.acl.ace: it is an NFSv4 ACL',
    ]);
    const [kept] = (await entryAt(repository, 'nfs')).xattrs;
    expect(Buffer.from(kept!.value).toString()).toBe(ace);
    const [acl] = (await entryAt(repository, 'solaris')).xattrs;
    expect(formatAcl(acl!.value)).toBe('user::rw-,user:7:r--,group::r--,mask::r--,other::---');
  });

  it('has what all global headers before it say, the last one first', async () => {
    const repository = await makeTestRepository();
    const archive = [
      extendedHeader(
        [
          ['uid', bs('70')],
          ['gid', bs('80')],
        ],
        'g',
      ),
      oddMember({ path: 'first' }, {}),
      extendedHeader([['uid', bs('71')]], 'g'),
      oddMember({ path: 'second' }, {}),
      sampleArchive([]),
    ];
    await importTar(repository.context, { archive });
    expect(await entryAt(repository, 'first')).toMatchObject({ uid: 70, gid: 80 });
    expect(await entryAt(repository, 'second')).toMatchObject({ uid: 71, gid: 80 });
  });
});

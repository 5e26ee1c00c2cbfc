import { lstatSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import { sampleArchive } from '../../support/tar-archive.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { runTool, testNeeding } from '../../support/tools.ts';
import { NO_ROOT, giveToNobody, isRoot, withoutPrivileges } from '../../support/unprivileged.ts';

/** Saves a file for each pair of a user and a group, with the numbers 4321 and 4322, which no machine should have. */
async function saveOwned(...owners: readonly (readonly [string, string])[]): Promise<TestRepository> {
  const repository = await makeTestRepository();
  const members = owners.map(([user, group], index) => ({
    path: `file-${index}`,
    content: 'x',
    user: user as ByteString,
    group: group as ByteString,
    uid: 4321,
    gid: 4322,
  }));
  const archive = sampleArchive(members.map((member) => ({ ...member, path: member.path as ByteString })));
  await importTar(repository.context, { archive: [archive] });
  return repository;
}

function unknownOwners(notices: readonly Notice[]): Notice[] {
  return notices.filter(({ kind }) => kind === 'unknown-owners');
}

testNeeding(NO_ROOT)('owners get the numbers that their names have here, or else their own', async () => {
  const missing = 'no such name';
  const repository = await saveOwned(['daemon', 'daemon'], ['daemon', missing], [missing, 'daemon'], ['', '']);
  const daemon = { uid: Number(runTool('id', '-u', 'daemon')), gid: Number(runTool('id', '-g', 'daemon')) };
  const restored = async (options: { readonly ownerByName?: boolean }): Promise<number[][]> => {
    const { target } = await repository.restore(options);
    return [0, 1, 2, 3].map((index) => {
      const { uid, gid } = lstatSync(join(target, `file-${index}`));
      return [uid, gid];
    });
  };
  expect(await restored({})).toEqual([4321, 4321, 4321, 4321].map((uid) => [uid, 4322]));
  expect(unknownOwners(repository.notices)).toEqual([]);
  expect(await restored({ ownerByName: true })).toEqual([
    [daemon.uid, daemon.gid],
    [daemon.uid, 4322],
    [4321, daemon.gid],
    [4321, 4322],
  ]);
  expect(unknownOwners(repository.notices)).toEqual([{ kind: 'unknown-owners', users: [missing], groups: [missing] }]);
});

it('for an ordinary user, files with the name of this user lack nothing', async () => {
  const user = isRoot ? 'nobody' : userInfo().username;
  const repository = await saveOwned([user, runTool('id', '-gn', user).trim()]);
  giveToNobody(repository.directory);
  const unset = async (ownerByName: boolean): Promise<string[]> => {
    const { attributesUnset } = await withoutPrivileges(async () => repository.restore({ ownerByName }));
    return attributesUnset.map(({ name }) => name);
  };
  expect(await unset(false)).toEqual(['owner']);
  expect(await unset(true)).toEqual([]);
  expect(unknownOwners(repository.notices)).toEqual([]);
});

it('names are refused where no owner is restored', async () => {
  const repository = await saveOwned(['', '']);
  await expect(repository.restore({ owner: false, ownerByName: true })).rejects.toThrow(UsageError);
});

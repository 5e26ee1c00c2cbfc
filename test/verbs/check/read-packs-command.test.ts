import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { recallReadPacks, rememberReadPacks } from '../../../src/verbs/check/read-packs.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

const packIds = ['a', 'b', 'c'].map((digit) => digit.repeat(64));

function placeIn(directory: string): Parameters<typeof recallReadPacks>[0] {
  return { directory, repositoryId: 'ab'.repeat(32), location: '/srv/backups' };
}

function known(place: ReturnType<typeof placeIn>): string[] {
  return packIds.filter(recallReadPacks(place)).map((id) => id[0]!);
}

it('packs that were read are remembered for one place, until they are gone', () => {
  const place = placeIn(temporaryDirectory());
  rememberReadPacks(place, packIds, packIds.slice(0, 2));
  expect(known(place)).toEqual(['a', 'b']);
  expect(known({ ...place, location: '/srv/copy' })).toEqual([]);
  expect(known({ ...place, repositoryId: 'cd'.repeat(32) })).toEqual([]);
  rememberReadPacks(place, packIds.slice(1), packIds.slice(2));
  expect(known(place)).toEqual(['b', 'c']);
});

it('a damaged list of packs, or none, means that all are read', () => {
  const directory = temporaryDirectory();
  const place = placeIn(directory);
  rememberReadPacks(place, packIds, packIds);
  const [file] = readdirSync(directory).map((name) => join(directory, name));
  writeFileSync(file!, readFileSync(file!, 'utf8').replace('aaaa', 'aaab'));
  expect(known(place)).toEqual([]);
  rememberReadPacks({ ...place, directory: undefined }, packIds, packIds);
  expect(known({ ...place, directory: undefined })).toEqual([]);
});

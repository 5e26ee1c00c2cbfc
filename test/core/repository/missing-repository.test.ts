import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { hintFor } from '../../../src/console/advice.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { RepositoryNotFoundError } from '../../../src/core/errors.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

it.each([
  ['a file', 'x.jpg', 'PLACE is a file, not a repository'],
  ['a directory with other things', 'photos', 'PLACE is a directory, but not a repository'],
  ['an empty directory', 'empty', 'there is no repository at PLACE: the directory is empty; is the disk mounted?'],
  ['a name that is not there', 'typo', 'there is no repository at PLACE: the directory does not exist'],
  [
    'a name in an empty directory',
    'empty/ldm',
    'there is no repository at PLACE: TOP/empty is empty; is the disk mounted?',
  ],
  ['a path below', 'usb/b/ldm', 'there is no repository at PLACE: TOP/usb does not exist; is the disk mounted?'],
  [
    'a symlink to nothing',
    'link',
    'there is no repository at PLACE: PLACE is a symlink to gone, which does not exist; is the disk mounted?',
  ],
  ['a path below a file', 'x.jpg/ldm', 'there is no repository at PLACE: TOP/x.jpg is a file, not a directory'],
])('%s is named as what it is', async (_, name, expected) => {
  const top = memoryDirectory();
  writeFileSync(join(top, 'x.jpg'), '');
  for (const directory of ['photos/2026', 'empty']) mkdirSync(join(top, directory), { recursive: true });
  symlinkSync('gone', join(top, 'link'));
  const place = join(top, name);
  const listing = listSnapshots({ backend: new LocalBackend(place) });
  await expect(listing).rejects.toThrow(RepositoryNotFoundError);
  const error = (await listing.catch((reason: unknown) => reason)) as RepositoryNotFoundError;
  expect(error.message).toBe(expected.replaceAll('PLACE', place).replace('TOP', top));
  expect(hintFor(error)).toMatch(/ another place .*ldm init|ldm -r .* init.* another place /);
});

it('a backend that is not a directory has no such place', async () => {
  await expect(listSnapshots({ backend: new MemoryBackend() })).rejects.toThrow(/^there is no repository at memory$/);
});

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

/** What can be beside the files of a directory. */
const ADDITIONS: Readonly<Record<string, (directory: string) => void>> = {
  nothing: () => undefined,
  'a directory with a file': (directory) => {
    mkdirSync(join(directory, 'inner'));
    writeFileSync(join(directory, 'inner', 'file'), 'x');
  },
  'a symlink to a file': (directory) => symlinkSync('b', join(directory, 'link')),
  'a symlink to a device': (directory) => symlinkSync('/dev/null', join(directory, 'link')),
  'a symlink to nothing': (directory) => symlinkSync('absent', join(directory, 'link')),
  'a symlink to nothing with the name of a snapshot': (directory) =>
    symlinkSync('absent', join(directory, 'a'.repeat(64))),
};

test.each(Object.keys(ADDITIONS))('names are listed as files are, beside %s', async (kind) => {
  const place = temporaryDirectory();
  const backend = new LocalBackend(place);
  const directory = join(place, 'snapshots');
  mkdirSync(directory);
  for (const name of ['b', 'ab', 'B', 'é']) writeFileSync(join(directory, name), name);
  ADDITIONS[kind]!(directory);
  const files = await backend.list('snapshots');
  const names = files.map(({ name, isForeign }) => ({ name, isForeign }));
  expect((await backend.listNames('snapshots')).map(({ name, isForeign }) => ({ name, isForeign }))).toEqual(names);
});

test('names in a directory that does not exist, or is a file, are refused in the same way', async () => {
  const place = temporaryDirectory();
  const backend = new LocalBackend(place);
  writeFileSync(join(place, 'file'), 'x');
  for (const directory of ['absent', 'file']) {
    const refusal = await backend.list(directory).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Error);
    await expect(backend.listNames(directory)).rejects.toEqual(refusal);
  }
});

test('the files of a directory are not looked at one by one for their names', async () => {
  const place = temporaryDirectory();
  mkdirSync(join(place, 'snapshots'));
  for (let number = 0; number < 50; number += 1) writeFileSync(join(place, 'snapshots', String(number)), 'x');
  let count = 0;
  replaceCall('lstatSync', (lstatSync) => {
    const counting = (...given: Parameters<typeof lstatSync>): unknown => {
      count += 1;
      return lstatSync(...given);
    };
    return counting as typeof lstatSync;
  });
  const backend = new LocalBackend(place);
  await backend.listNames('snapshots');
  expect(count).toBe(0);
  await backend.list('snapshots');
  expect(count).toBe(50);
});

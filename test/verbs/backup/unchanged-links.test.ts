import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { nativeCalls } from '../../../src/core/files/native/native.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import { runTool } from '../../support/tools.ts';

const hasAttributes = nativeCalls()?.attributes !== undefined;

it.runIf(hasAttributes)('an unchanged symlink is not read again, and one that was made again is', async () => {
  const repository = await makeTestRepository();
  const { source } = repository;
  const links = ['one', 'other'].map((name) => join(source, name));
  for (const link of links) symlinkSync('target', link);
  runTool('mkfifo', join(source, 'fifo'));
  await letSettle(links[1]!);
  const read: string[] = [];
  replaceCall(
    'readlinkSync',
    (readlinkSync) =>
      ((...given: Parameters<typeof readlinkSync>) => {
        read.push(String(given[0]));
        return readlinkSync(...given);
      }) as typeof readlinkSync,
  );
  const readIn = (): string[] => read.splice(0).filter((path) => links.includes(path));
  await repository.backup();
  expect(readIn()).toEqual(links);
  const first = await repository.backup();
  expect(readIn()).toEqual([]);
  expect(first.summary.dataAdded).toBe(0);
  // The same length, and on many file systems the same inode.
  rmSync(links[0]!);
  symlinkSync('TARGET', links[0]!);
  await repository.backup();
  expect(readIn()).toEqual([links[0]]);
  await repository.expectRestored();
});

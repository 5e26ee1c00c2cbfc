import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import * as sourceFiles from '../../../src/core/files/source/source-files.ts';
import { nativeCalls } from '../../../src/core/files/native/native.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import { runTool } from '../../support/tools.ts';

const hasAttributes = nativeCalls()?.attributes !== undefined;

it.runIf(hasAttributes)('an unchanged symlink is not read again, and one that was made again is', async () => {
  const read = vi.spyOn(sourceFiles, 'readLinkTarget');
  const repository = await makeTestRepository();
  const { source } = repository;
  const links = ['one', 'other'].map((name) => join(source, name));
  for (const link of links) symlinkSync('target', link);
  runTool('mkfifo', join(source, 'fifo'));
  await letSettle(links[1]!);
  await repository.backup();
  expect(read).toHaveBeenCalledTimes(2);
  const first = await repository.backup();
  expect(read).toHaveBeenCalledTimes(2);
  expect(first.summary.dataAdded).toBe(0);
  // The same length, and on many file systems the same inode.
  rmSync(links[0]!);
  symlinkSync('TARGET', links[0]!);
  await repository.backup();
  expect(read).toHaveBeenCalledTimes(3);
  await repository.expectRestored();
});

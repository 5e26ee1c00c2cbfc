import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { chdir, cwd } from 'node:process';

import { onTestFinished, vi } from 'vitest';

import * as sourceMetadata from '../../src/core/files/source/source-metadata.ts';
import type { SourceMetadata } from '../../src/core/files/source/status-fields.ts';
import { memoryDirectory } from './temp-directory.ts';

/** A file that changes later than a backup reads it is read again by the next one; others are not. */
const FUTURE = 2 ** 32;
const OWNER = { uid: 1000, gid: 1000 };
/** The same for each file, in each run and for each user. */
const FIXED: Partial<SourceMetadata> = {
  ...OWNER,
  mtimeSeconds: 0,
  mtimeNanoseconds: 0,
  ctimeNanoseconds: 0,
  inode: 1n,
  birthSeconds: undefined,
  birthNanoseconds: 0,
};

/**
 * Returns a new directory whose path is the same in each run and, until the test ends, so are the user and the metadata
 * of files. All of these are in snapshots, so their ids would differ otherwise, and a seed would choose others of them.
 */
export function fixedSourceDirectory(): string {
  const before = cwd();
  chdir(memoryDirectory());
  const { userInfo } = os;
  os.userInfo = (() => ({ ...userInfo(), ...OWNER, username: 'ada' })) as typeof userInfo;
  syncBuiltinESMExports();
  onTestFinished(() => {
    chdir(before);
    os.userInfo = userInfo;
    syncBuiltinESMExports();
  });
  const { readMetadata, readMetadataFollowing, readMetadataOf } = sourceMetadata;
  vi.spyOn(sourceMetadata, 'readMetadata').mockImplementation((path) => fixed(readMetadata(path)));
  vi.spyOn(sourceMetadata, 'readMetadataFollowing').mockImplementation((path) => fixed(readMetadataFollowing(path)));
  vi.spyOn(sourceMetadata, 'readMetadataOf').mockImplementation((...given) => fixed(readMetadataOf(...given)));
  return '/proc/self/cwd';
}

function fixed(metadata: SourceMetadata): SourceMetadata {
  return { ...metadata, ...FIXED, ctimeSeconds: metadata.sizeBytes % 2 === 0 ? 0 : FUTURE };
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { hasNanosecondTimes, nativeCalls } from '../../../../src/core/files/native/native.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { createSymlink, createTargetFile, finishTargetFile } from '../../../../src/core/files/target/target-writer.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { withoutKoffi } from '../../../support/without-koffi.ts';
import { bytes, sampleEntry } from '../sample-entry.ts';

it('is there wherever this suite runs, and leaves a time that is not given', () => {
  expect(hasNanosecondTimes()).toBe(true);
  const path = byteStringFromText(join(temporaryDirectory(), 'file'));
  writeFileSync(path, '');
  nativeCalls()!.lutimens(path, undefined, { seconds: 7, nanoseconds: 8 });
  nativeCalls()!.lutimens(path, { seconds: 9, nanoseconds: 1 }, undefined);
  expect(readMetadata(path)).toMatchObject({ mtimeSeconds: 7, mtimeNanoseconds: 8 });
});

it('throws errors as Node does', () => {
  const path = bytes(temporaryDirectory(), '/gone');
  expect(() => nativeCalls()!.lutimens(path, undefined, { seconds: 1, nanoseconds: 0 })).toThrow(
    expect.objectContaining({ code: 'ENOENT', errno: -2, syscall: 'utimensat' }),
  );
});

it('has a fallback that keeps times before 1970, rounded', () => {
  withoutKoffi();
  expect(nativeCalls()).toBeUndefined();
  const directory = temporaryDirectory();
  const policy = createTargetPolicy();
  const entry = sampleEntry({ mtimeSeconds: -100, mtimeNanoseconds: 250_000_000, linkTarget: bytes('file') });
  const path = bytes(directory, '/file');
  expect(finishTargetFile(createTargetFile(path, 0o600), entry, { path, policy })).toBeUndefined();
  const link = bytes(directory, '/link');
  expect(createSymlink(link, { ...entry, type: 'symlink' }, policy, link)).toBeUndefined();
  vi.restoreAllMocks();
  for (const name of ['file', 'link']) {
    expect(readMetadata(bytes(directory, '/', name))).toMatchObject({
      mtimeSeconds: -100,
      mtimeNanoseconds: 250_000_000,
    });
  }
});

import { openSync, symlinkSync } from 'node:fs';

import { expect, it } from 'vitest';

import type { TargetError } from '../../../../src/core/errors.ts';
import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { applyMetadataByPath } from '../../../../src/core/files/target/target-metadata.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { finishTargetDirectory, makeTargetDirectory } from '../../../../src/core/files/target/target-directory.ts';
import { createTargetFile, finishTargetFile } from '../../../../src/core/files/target/target-writer.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { fsPath } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { NEEDS_ROOT, giveToNobody, isRoot, withoutPrivileges } from '../../../support/unprivileged.ts';
import { bytes, sampleEntry } from '../sample-entry.ts';

const policy = createTargetPolicy();

function restoreFile(path: ByteString, fields: Partial<TreeEntry>, by = policy): TargetError | undefined {
  const entry = sampleEntry(fields);
  return finishTargetFile(createTargetFile(path, entry.mode), entry, { path, policy: by });
}

it('files lose set-id bits when they do not get their owner, and report it', () => {
  const path = bytes(temporaryDirectory(), '/file');
  const other = process.geteuid!() + 4321;
  const own = createTargetPolicy({ setsOwners: false });
  const unset = ['setuid bit', 'setgid bit'].map((name) => ({ name, reason: 'owner' }));
  expect(restoreFile(path, { mode: 0o6755, uid: other, gid: 4321 }, own)).toMatchObject({ unset, other: undefined });
  expect(readMetadata(path)).toMatchObject({ mode: 0o755, uid: process.geteuid!() });
});

it('files report an owner that was refused, and finish the rest', async () => {
  const directory = temporaryDirectory();
  giveToNobody(directory);
  const path = bytes(directory, '/file');
  const failure = await withoutPrivileges(async () =>
    restoreFile(path, { mode: 0o4755, uid: 0 }, createTargetPolicy({ setsOwners: true })),
  );
  expect(failure).toMatchObject({ path, other: { code: 'TARGET', errno: 'EPERM', path } });
  expect(readMetadata(path)).toMatchObject({ mode: 0o755, mtimeNanoseconds: 123_456_789 });
});

it('files get owner and set-id bits from root', ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const path = bytes(temporaryDirectory(), '/file');
  expect(restoreFile(path, { mode: 0o6751, uid: 4321, gid: 1234 })).toBeUndefined();
  expect(readMetadata(path)).toMatchObject({ mode: 0o6751, uid: 4321, gid: 1234, mtimeNanoseconds: 123_456_789 });
});

it('files keep set-id bits that were there before a change of owner', ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const path = bytes(temporaryDirectory(), '/file');
  restoreFile(path, { mode: 0o6751 });
  const descriptor = openSync(path, 'r+');
  finishTargetFile(descriptor, sampleEntry({ mode: 0o6751, uid: 4321, gid: 1234 }), { path, policy });
  expect(readMetadata(path)).toMatchObject({ mode: 0o6751, uid: 4321 });
});

it('files get our own group back where the directory hands down another', ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const directory = bytes(temporaryDirectory(), '/shared');
  makeTargetDirectory(directory);
  finishTargetDirectory(directory, sampleEntry({ type: 'directory', mode: 0o2775, gid: 1234 }), policy);
  const path = bytes(directory, '/file');
  restoreFile(path, { gid: process.getegid!() });
  expect(readMetadata(path).gid).toBe(process.getegid!());
});

it('files are found their owner by name on request', ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const path = bytes(temporaryDirectory(), '/file');
  const names = { uid: 4321, gid: 4321, user: bytes('root'), group: bytes('no such group') };
  restoreFile(path, names, createTargetPolicy({ byName: true }));
  expect(readMetadata(path)).toMatchObject({ uid: 0, gid: 4321 });
});

it.each([-(2 ** 40), -5e9, -1, 0, 2 ** 31, 2 ** 33, 9e12])(
  'a time that the file system cannot have is reported: %d',
  (time) => {
    const path = bytes(temporaryDirectory(), '/file');
    const failure = restoreFile(path, { mtimeSeconds: time });
    const { mtimeSeconds } = readMetadata(path);
    expect(failure?.message).toEqual(mtimeSeconds === time ? undefined : expect.stringContaining('attributes of'));
    if (failure !== undefined) expect(failure).toMatchObject({ unset: [{ name: 'mtime', reason: 'unsupported' }] });
    const link = bytes(temporaryDirectory(), '/link');
    symlinkSync('x', fsPath(link));
    const target = { path: link, policy };
    const ofLink = applyMetadataByPath(sampleEntry({ type: 'symlink', mtimeSeconds: time }), target, link);
    expect(ofLink === undefined).toBe(failure === undefined);
  },
);

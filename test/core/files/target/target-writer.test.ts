import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { readLinkTarget } from '../../../../src/core/files/source/source-files.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { finishTargetDirectory, makeTargetDirectory } from '../../../../src/core/files/target/target-directory.ts';
import { makeTargetRoot } from '../../../../src/core/files/target/target-root.ts';
import {
  createSpecial,
  createSymlink,
  createTargetFile,
  finishTargetFile,
  readTargetLink,
  readTargetStats,
} from '../../../../src/core/files/target/target-writer.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { NEEDS_ROOT, isRoot } from '../../../support/unprivileged.ts';
import { bytes, sampleEntry } from '../sample-entry.ts';

const policy = createTargetPolicy({ makesDevices: true });
const TIMES = [
  ['with nanoseconds', 1_234_567_890, 123_456_789],
  ['before 1970', -2, 999_999_999],
  ['at zero', 0, 0],
  ['after 2038', 5_000_000_000, 1],
] as const;

function restoreFile(path: ByteString, fields: Partial<TreeEntry>, by = policy): ReturnType<typeof finishTargetFile> {
  const entry = sampleEntry(fields);
  const descriptor = createTargetFile(path, entry.mode);
  writeSync(descriptor, 'content');
  return finishTargetFile(descriptor, entry, { path, policy: by });
}

describe('files', () => {
  it.each(TIMES)('get content, mode and a time %s', (_, mtimeSeconds, mtimeNanoseconds) => {
    const path = bytes(temporaryDirectory(), '/', 0xff);
    expect(restoreFile(path, { mode: 0o604, mtimeSeconds, mtimeNanoseconds })).toBeUndefined();
    expect(readMetadata(path)).toMatchObject({ mode: 0o604, sizeBytes: 7, mtimeSeconds, mtimeNanoseconds });
  });

  it('get their mode whatever the umask, and whatever the directory hands down', () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o2777);
    const previous = process.umask(0o077);
    try {
      for (const mode of [0o666, 0o777, 0o400, 0o000, 0o4755, 0o2755, 0o1644]) {
        const path = bytes(directory, '/', mode.toString(8));
        expect(restoreFile(path, { mode })).toBeUndefined();
        expect(readMetadata(path).mode).toBe(mode);
      }
    } finally {
      process.umask(previous);
    }
  });

  it('are never set-id before they are finished', () => {
    const path = bytes(temporaryDirectory(), '/file');
    const entry = sampleEntry({ mode: 0o6755 });
    const descriptor = createTargetFile(path, entry.mode);
    expect(readMetadata(path).mode & 0o7000).toBe(0);
    finishTargetFile(descriptor, entry, { path, policy });
    expect(readMetadata(path).mode).toBe(0o6755);
  });

  it('do not replace what is there, a symlink least of all', () => {
    const directory = temporaryDirectory();
    symlinkSync('outside', join(directory, 'link'));
    writeFileSync(join(directory, 'file'), 'old');
    for (const name of ['link', 'file']) {
      expect(() => createTargetFile(bytes(directory, '/', name), 0o600)).toThrow(
        expect.objectContaining({ code: 'TARGET', errno: 'EEXIST', path: join(directory, name) }),
      );
    }
    expect(existsSync(join(directory, 'outside'))).toBe(false);
    expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('old');
  });

  it('are looked at with errors about the target, not about the source', () => {
    const directory = temporaryDirectory();
    symlinkSync('outside', join(directory, 'link'));
    writeFileSync(join(directory, 'file'), '');
    expect(readTargetLink(bytes(directory, '/link'))).toBe('outside');
    expect(readTargetStats(bytes(directory, '/link'))?.isSymbolicLink()).toBe(true);
    expect(readTargetStats(bytes(directory, '/absent'))).toBeUndefined();
    expect(() => readTargetLink(bytes(directory, '/file'))).toThrow(
      expect.objectContaining({ code: 'TARGET', errno: 'EINVAL', path: join(directory, 'file') }),
    );
    const long = bytes(directory, '/', 'x'.repeat(256));
    expect(() => readTargetStats(long)).toThrow(expect.objectContaining({ code: 'TARGET', errno: 'ENAMETOOLONG' }));
  });
});

describe('directories', () => {
  it.each(TIMES)('get mode and a time %s after their contents', (_, mtimeSeconds, mtimeNanoseconds) => {
    const path = bytes(temporaryDirectory(), '/', 'd'.repeat(255));
    expect(makeTargetDirectory(path)).toBe(true);
    expect(readMetadata(path).mode).toBe(0o700);
    restoreFile(bytes(path, '/file'), {});
    const entry = sampleEntry({ type: 'directory', mode: 0o1510, mtimeSeconds, mtimeNanoseconds });
    expect(finishTargetDirectory(path, entry, policy)).toBeUndefined();
    expect(readMetadata(path)).toMatchObject({ mode: 0o1510, mtimeSeconds, mtimeNanoseconds });
    chmodSync(path, 0o700);
  });

  it('may be there already, but only as real directories', () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'real'));
    symlinkSync('real', join(directory, 'link'));
    symlinkSync('nowhere', join(directory, 'dangling'));
    writeFileSync(join(directory, 'file'), '');
    expect(makeTargetDirectory(bytes(directory, '/real'))).toBe(false);
    for (const name of ['link', 'dangling', 'file']) {
      const path = bytes(directory, '/', name);
      expect(() => makeTargetDirectory(path)).toThrow(
        expect.objectContaining({ code: 'TARGET', errno: 'EEXIST', path }),
      );
    }
    const entry = sampleEntry({ type: 'directory', mode: 0o711 });
    expect(finishTargetDirectory(bytes(directory, '/link'), entry, policy)).toMatchObject({ errno: 'ENOTDIR' });
    expect(statSync(join(directory, 'real')).mode & 0o777).not.toBe(0o711);
  });

  it('start at a root that may be reached through symlinks', () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'real'));
    symlinkSync('real', join(directory, 'link'));
    const { path: root } = makeTargetRoot(bytes(directory, '/link/', 0xff, '/new'), { isPrivate: false });
    expect(root.endsWith('/real/\u00ff/new')).toBe(true);
    expect(readMetadata(root).type).toBe('directory');
  });
});

describe('links', () => {
  it.each(TIMES)('symbolic: get their target and a time %s', (_, mtimeSeconds, mtimeNanoseconds) => {
    const directory = temporaryDirectory();
    const path = bytes(directory, '/link');
    const linkTarget = bytes('../', 0xff, '\n');
    const entry = sampleEntry({ type: 'symlink', mode: 0o777, linkTarget, mtimeSeconds, mtimeNanoseconds });
    expect(createSymlink(path, entry, policy, path)).toBeUndefined();
    expect(readLinkTarget(path)).toBe(linkTarget);
    expect(readMetadata(path)).toMatchObject({ type: 'symlink', mtimeSeconds, mtimeNanoseconds });
  });

  it('symbolic: leave what they lead to alone', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    const before = readMetadata(bytes(directory, '/file'));
    const uid = isRoot ? 4321 : process.geteuid!();
    // Some systems have links with modes; setting one here would reach the file.
    const entry = sampleEntry({ type: 'symlink', mode: 0o711, linkTarget: bytes('file'), uid });
    expect(createSymlink(bytes(directory, '/link'), entry, policy, bytes(directory, '/link'))).toBeUndefined();
    expect(readMetadata(bytes(directory, '/file'))).toEqual(before);
    expect(readMetadata(bytes(directory, '/link')).uid).toBe(uid);
  });
});

describe('special files', () => {
  it('FIFOs get mode and time', () => {
    const path = bytes(temporaryDirectory(), '/', 0xff, 'fifo');
    const outcome = createSpecial(path, sampleEntry({ type: 'fifo', mode: 0o622 }), policy, path);
    expect(outcome).toEqual({ skipped: undefined, failure: undefined });
    expect(readMetadata(path)).toMatchObject({ type: 'fifo', mode: 0o622, mtimeNanoseconds: 123_456_789 });
    expect(() => createSpecial(path, sampleEntry({ type: 'fifo' }), policy, path)).toThrow(
      expect.objectContaining({ code: 'TARGET', errno: 'EEXIST' }),
    );
  });

  it('sockets and unrequested devices are left out', () => {
    const path = byteStringFromText(join(temporaryDirectory(), 'special'));
    expect(createSpecial(path, sampleEntry({ type: 'socket' }), policy, path).skipped).toBe('socket');
    const device = sampleEntry({ type: 'character-device', deviceMajor: 1, deviceMinor: 3 });
    expect(createSpecial(path, device, createTargetPolicy(), path).skipped).toBe('device');
    if (!isRoot) expect(createSpecial(path, device, policy, path).skipped).toBe('device');
    expect(existsSync(path)).toBe(false);
  });

  it('devices get their numbers', ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const directory = temporaryDirectory();
    for (const type of ['character-device', 'block-device'] as const) {
      const path = bytes(directory, '/', type);
      const entry = sampleEntry({ type, mode: 0o660, deviceMajor: 300, deviceMinor: 70_000 });
      try {
        expect(createSpecial(path, entry, policy, path).failure).toBeUndefined();
      } catch (error) {
        skip((error as { errno?: string }).errno === 'EPERM', 'no device can be made here, not even by root');
        throw error;
      }
      expect(readMetadata(path)).toMatchObject({ type, mode: 0o660, deviceMajor: 300, deviceMinor: 70_000 });
    }
  });
});

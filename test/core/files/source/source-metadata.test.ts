import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SourceError } from '../../../../src/core/errors.ts';
import { deviceMajorOf, deviceMinorOf, makeDevice } from '../../../../src/core/files/native/device-number.ts';
import { nativeCalls } from '../../../../src/core/files/native/native.ts';
import {
  readMetadata,
  readMetadataFollowing,
  readMetadataOf,
} from '../../../../src/core/files/source/source-metadata.ts';
import { byteStringFromText, fsPath } from '../../../../src/core/util/byte-string.ts';
import { memoryDirectory, temporaryDirectory } from '../../../support/temp-directory.ts';
import { bytes } from '../sample-entry.ts';

describe('readMetadata', () => {
  it('tells types, mode, size and link count', () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'file');
    writeFileSync(file, 'content');
    chmodSync(file, 0o4751);
    linkSync(file, join(directory, 'other'));
    symlinkSync('nowhere', join(directory, 'link'));
    expect(readMetadata(byteStringFromText(file))).toMatchObject({
      type: 'file',
      mode: 0o4751,
      sizeBytes: 7,
      linkCount: 2,
      uid: process.geteuid!(),
    });
    expect(readMetadata(byteStringFromText(directory)).type).toBe('directory');
    expect(readMetadata(byteStringFromText(join(directory, 'link'))).type).toBe('symlink');
    expect(readMetadata(byteStringFromText('/dev/null'))).toMatchObject({
      type: 'character-device',
      deviceMajor: 1,
      deviceMinor: 3,
    });
  });

  it.each([
    ['now', 1_700_000_000.5, 1_700_000_000, 500_000_000],
    ['before 1970', -1.5, -2, 500_000_000],
    ['long before 1970', -100_000, -100_000, 0],
  ])('rounds a time %s down to whole seconds', (_, time, seconds, nanoseconds) => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    // As a number, a negative time would mean now.
    const date = new Date(time * 1000);
    utimesSync(file, date, date);
    expect(readMetadata(byteStringFromText(file))).toMatchObject({
      mtimeSeconds: seconds,
      mtimeNanoseconds: nanoseconds,
    });
  });

  it.each([2 ** 60, -(2 ** 60)])('cuts a time of %d seconds to what a number holds exactly', (seconds) => {
    const path = byteStringFromText(join(memoryDirectory(), 'file'));
    writeFileSync(path, '');
    nativeCalls()!.lutimens(path, undefined, { seconds, nanoseconds: 1 });
    const found = readMetadata(path).mtimeSeconds;
    // Not every file system can keep such a time, but none may give one that a snapshot cannot hold.
    expect(Number.isSafeInteger(found)).toBe(true);
    expect(Math.sign(found)).toBe(Math.sign(seconds));
  });

  it('reads names that are not UTF-8', () => {
    const path = bytes(temporaryDirectory(), '/', 0xff, 0xfe, 'é');
    writeFileSync(fsPath(path), 'x');
    expect(readMetadata(path).sizeBytes).toBe(1);
  });

  it('follows only when asked, and agrees about an open file', () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'real'));
    symlinkSync('real', join(directory, 'link'));
    lutimesSync(join(directory, 'link'), 5, 5);
    const link = byteStringFromText(join(directory, 'link'));
    expect(readMetadata(link).mtimeSeconds).toBe(5);
    const followed = readMetadataFollowing(link);
    expect(followed).toEqual(readMetadata(byteStringFromText(join(directory, 'real'))));
    const descriptor = openSync(join(directory, 'real'), 'r');
    expect(readMetadataOf(descriptor)).toEqual(followed);
    closeSync(descriptor);
  });

  it('names path and errno of a failure', () => {
    const path = bytes(temporaryDirectory(), '/', 0xff);
    expect(() => readMetadata(path)).toThrow(SourceError);
    try {
      readMetadata(path);
    } catch (error) {
      expect(error).toMatchObject({ errno: 'ENOENT', path, code: 'SOURCE' });
      expect((error as Error).message).toMatch(
        /^cannot read the metadata of .*: no such file or directory \(ENOENT\)$/,
      );
    }
  });
});

describe('device numbers', () => {
  it('survive packing, with all bits', () => {
    const isMacOs = process.platform === 'darwin';
    const pairs = isMacOs ? [[255, 0xffffff]] : [[0xffffffff, 0xffffffff]];
    for (const [major, minor] of [[0, 0], [1, 3], [8, 17], [250, 70_000], ...pairs] as [number, number][]) {
      const device = makeDevice(major, minor);
      expect([deviceMajorOf(device), deviceMinorOf(device)]).toEqual([major, minor]);
    }
  });

  it.runIf(process.platform === 'linux')('agree with the system', () => {
    const { stdout } = spawnSync('stat', ['-c', '%t %T', '/dev/urandom'], { encoding: 'utf8' });
    const { deviceMajor, deviceMinor } = readMetadata(byteStringFromText('/dev/urandom'));
    expect(`${deviceMajor.toString(16)} ${deviceMinor.toString(16)}`).toBe(stdout.trim());
  });
});

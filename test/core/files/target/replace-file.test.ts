import { mkdirSync, readFileSync, readdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TargetError, UsageError } from '../../../../src/core/errors.ts';
import { assertReplaceable, replaceFile } from '../../../../src/core/files/target/replace-file.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { replaceCall } from '../../../support/replaced-call.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';

describe('replaceFile', () => {
  it('forces the new bytes to the disk before they take the place of the old ones', () => {
    const path = byteStringFromText(join(temporaryDirectory(), 'figures'));
    writeFileSync(path, 'old');
    const seen: string[] = [];
    replaceCall('fsyncSync', (fsyncSync) => (descriptor) => {
      const synced = readlinkSync(`/proc/self/fd/${descriptor}`);
      if (statSync(synced).isFile()) seen.push(readFileSync(synced, 'utf8'), readFileSync(path, 'utf8'));
      fsyncSync(descriptor);
    });
    replaceCall('renameSync', () => () => void seen.push('renamed'));
    replaceFile(path, Buffer.from('new'));
    expect(seen).toEqual(['new', 'old', 'renamed']);
  });

  it('makes a file, replaces one, and leaves nothing else', () => {
    const directory = temporaryDirectory();
    const path = byteStringFromText(join(directory, 'figures'));
    replaceFile(path, Buffer.from('first'));
    expect(readFileSync(path, 'utf8')).toBe('first');
    replaceFile(path, Buffer.from('2'));
    expect(readFileSync(path, 'utf8')).toBe('2');
    expect(readdirSync(directory)).toEqual(['figures']);
  });

  it('follows a symlink, which stays one', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'real'), 'old');
    symlinkSync('real', join(directory, 'link'));
    replaceFile(byteStringFromText(join(directory, 'link')), Buffer.from('new'));
    expect(readlinkSync(join(directory, 'link'))).toBe('real');
    expect(readFileSync(join(directory, 'real'), 'utf8')).toBe('new');
  });

  it('does not take the place of a directory', () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'inner'));
    const path = byteStringFromText(join(directory, 'inner'));
    expect(() => assertReplaceable(path)).toThrow(UsageError);
    expect(() => replaceFile(path, Buffer.from('x'))).toThrow(UsageError);
    expect(readdirSync(directory)).toEqual(['inner']);
  });

  it('writes to a device instead of taking its place', () => {
    const device = byteStringFromText('/dev/null');
    replaceFile(device, Buffer.from('x'));
    expect(statSync(device).isCharacterDevice()).toBe(true);
  });

  it('says what cannot be written, and leaves nothing', () => {
    const directory = temporaryDirectory();
    const path = byteStringFromText(join(directory, 'absent', 'figures'));
    expect(() => replaceFile(path, Buffer.from('x'))).toThrow(TargetError);
    expect(readdirSync(directory)).toEqual([]);
  });
});

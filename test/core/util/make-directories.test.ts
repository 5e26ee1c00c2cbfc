import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDirectories } from '../../../src/core/util/make-directories.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

test('makes what is missing, and says where it began', () => {
  const directory = temporaryDirectory();
  expect(makeDirectories(join(directory, 'a/b/c'), { mode: 0o700 })).toBe(join(directory, 'a'));
  expect(statSync(join(directory, 'a/b/c')).mode & 0o777).toBe(0o700);
  expect(makeDirectories(join(directory, 'a/b/c'), { mode: 0o700 })).toBeUndefined();
  mkdirSync(join(directory, 'd'));
  expect(makeDirectories(join(directory, 'd/e'), { mode: 0o700 })).toBe(join(directory, 'd/e'));
});

test('a file in the way is an error', () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  expect(() => makeDirectories(file, { mode: 0o700 })).toThrow('EEXIST');
  expect(() => makeDirectories(join(file, 'below'), { mode: 0o700 })).toThrow('ENOTDIR');
});

test.runIf(existsSync('/proc/self'))('a parent that answers ENOENT for ever ends in an error', () => {
  expect(() => makeDirectories('/proc/nobody/knows/this', { mode: 0o700 })).toThrow('ENOENT');
});

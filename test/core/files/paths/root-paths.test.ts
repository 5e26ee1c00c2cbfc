import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { absolutePath, commonParent, isWithin, mergeRoots } from '../../../../src/core/files/paths/root-paths.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { testProperty } from '../../../support/property.ts';

const paths = (...texts: string[]): ByteString[] => texts as ByteString[];

describe('commonParent', () => {
  it.each([
    [['/home/me/docs'], '/home/me'],
    [['/home/me/docs', '/etc'], '/'],
    [['/'], '/'],
    [['/etc'], '/'],
    [['/a/b', '/a/c'], '/a'],
    [['/a/b/c', '/a/bc/d'], '/a'],
    [['/a/b/x', '/a/b/c/y'], '/a/b'],
  ])('of %j is %s', (roots, parent) => {
    expect(commonParent(paths(...roots))).toBe(parent);
  });
});

describe('absolutePath', () => {
  it.each([
    ['x', '/d', '/d/x'],
    ['../x/./y//', '/d/e', '/d/x/y'],
    ['/a/../../b', '/d', '/b'],
    ['.', '/', '/'],
    ['..', '/', '/'],
  ])('%s in %s is %s', (path, directory, expected) => {
    expect(absolutePath(path as ByteString, directory as ByteString)).toBe(expected);
  });
});

describe('mergeRoots', () => {
  const name = fc.constantFrom('a', 'b', 'a-', 'a.b', 'a0', '\u00ff');
  const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join('/')}` as ByteString);

  testProperty('keeps exactly the paths that lie under no other, sorted', (check) => {
    check(
      fc.property(fc.array(path), (all) => {
        const expected = [...new Set(all)]
          .filter((one) => !all.some((other) => other !== one && isWithin(one, other)))
          .sort();
        expect(mergeRoots(all)).toEqual(expected);
      }),
    );
  });

  testProperty('leaves roots that all lie under their common parent', (check) => {
    check(
      fc.property(fc.array(path, { minLength: 1 }), (all) => {
        const roots = mergeRoots(all);
        const parent = commonParent(roots);
        for (const root of roots) expect(root === '/' || (root !== parent && isWithin(root, parent))).toBe(true);
      }),
    );
  });
});

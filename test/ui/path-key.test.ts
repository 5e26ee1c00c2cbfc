import { spawnSync } from 'node:child_process';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  bytesOfKey,
  joinKeys,
  keyInside,
  keyOfBytes,
  keysAbove,
  quoteBytes,
  textOfBytes,
} from '../../src/ui/page/parts/path-key.ts';
import { testProperty } from '../support/property.ts';

/** Any bytes of names, as characters. */
const name = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes).toString('latin1').replaceAll(/[\0/]/g, '_'));

describe('a key of a path', () => {
  testProperty('is the one that the server makes, and can be cut and joined', (check) =>
    check(
      fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
        const path = names.join('/');
        const key = keyOfBytes(path);
        expect(key).toBe(Buffer.from(path, 'latin1').toString('base64url'));
        expect(bytesOfKey(key)).toBe(path);
        expect(names.reduce((joined, each) => joinKeys(joined, keyOfBytes(each)), '')).toBe(key);
        expect(keysAbove(key).map(bytesOfKey)).toEqual(
          names.map((_, index) => names.slice(0, index).join('/')).concat(path),
        );
        for (const base of ['/', '/a', '/a/b'])
          expect(keyInside(keyOfBytes(`${base}/${path}`.replace('//', '/')), keyOfBytes(base))).toBe(key);
        expect(textOfBytes(path)).toBe(Buffer.from(path, 'latin1').toString());
      }),
    ),
  );

  it('is the root for the base itself, and for what is no key', () => {
    expect(keyInside(keyOfBytes('/srv/data'), keyOfBytes('/srv/data'))).toBe('');
    expect(keyInside(keyOfBytes('/'), keyOfBytes('/srv/data'))).toBe('');
    expect(keyInside(keyOfBytes('/srv/data2'), keyOfBytes('/srv/data'))).toBe(keyOfBytes('/srv/data2'));
    expect(keysAbove('')).toEqual(['']);
    expect(bytesOfKey('!')).toBe('');
  });
});

describe('a word in a command to copy', () => {
  testProperty('means its bytes to a shell', (check) =>
    check(
      fc.property(fc.array(name, { minLength: 200, maxLength: 200 }), (words) => {
        const quoted = [...words, 'it’s', "it's", 'a b', 'back\\slash', '\n', '\u00ff7', '$x', '-n', '~', '*'].map(
          (word) => (/[^\0-\u00ff]/.test(word) ? Buffer.from(word).toString('latin1') : word),
        );
        const command = Buffer.from(`printf '%s\\0' ${quoted.map(quoteBytes).join(' ')}`);
        const { stdout } = spawnSync('bash', ['--posix', '-c', command.toString()], { encoding: 'latin1' });
        expect(stdout.split('\0').slice(0, -1)).toEqual(quoted);
      }),
      { numRuns: 3, endOnFailure: true },
    ),
  );

  it('is shown without what would turn it around or break its line', () => {
    expect(quoteBytes('docs/a.txt')).toBe('docs/a.txt');
    expect(quoteBytes('my docs')).toBe("'my docs'");
    expect(quoteBytes('caf\u00c3\u00a9')).toBe("'café'");
    expect(quoteBytes('caf\u00e9')).toBe(String.raw`$'caf\351'`);
    expect(quoteBytes('a\nb')).toBe(String.raw`$'a\012b'`);
    expect(quoteBytes(Buffer.from('a\u{202e}b').toString('latin1'))).toBe(String.raw`$'a\342\200\256b'`);
  });
});

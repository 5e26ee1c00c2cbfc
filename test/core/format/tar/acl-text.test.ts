import { describe, expect, it } from 'vitest';

import { formatAcl, parseAcl } from '../../../../src/core/format/tar/acl-text.ts';
import { bs } from '../../../support/tar-archive.ts';

const nobodyHere = (): undefined => undefined;

describe('an ACL', () => {
  it('is the same after it was text', () => {
    const text = bs('user::rw-,user:0:---,user:1000:r-x,group::r--,group:5:rwx,mask::rwx,other::--x');
    const bytes = parseAcl(text, nobodyHere).value!;
    expect(formatAcl(bytes)).toBe(text);
  });

  it('is sorted as the kernel requires', () => {
    const bytes = parseAcl(
      bs('other::r--\nmask::r--\ngroup:9:r--\nuser:8:r--\nuser:7:rw-\ngroup::r--\nuser::rw-\n'),
      nobodyHere,
    ).value!;
    expect(formatAcl(bytes)).toBe('user::rw-,user:7:rw-,user:8:r--,group::r--,group:9:r--,mask::r--,other::r--');
  });

  it('has the numbers in the fourth field, and else those of this machine', () => {
    const findOwner = (kind: string, name: string): number => (kind === 'user' ? 100 : 200) + name.length;
    const bytes = parseAcl(
      bs('user::rw-,user:lisa:r--,group::r--,group:wheel:r--:7,mask::r--,other::r--'),
      findOwner,
    ).value!;
    expect(formatAcl(bytes)).toBe('user::rw-,user:104:r--,group::r--,group:7:r--,mask::r--,other::r--');
  });

  it('gets the mask that follows from its entries if it has none', () => {
    const bytes = parseAcl(bs('user::rw-,user:7:-wx,group::r--,other::r--'), nobodyHere).value!;
    expect(formatAcl(bytes)).toBe('user::rw-,user:7:-wx,group::r--,mask::rwx,other::r--');
  });

  it('keeps the entries that restrict the mode if somebody is unknown', () => {
    const { value, unknown } = parseAcl(
      bs('user::rw-,user:lisa:rwx,group::r--,group:x:r--,mask::rwx,other::---'),
      nobodyHere,
    );
    expect(formatAcl(value!)).toBe('user::rw-,group::r--,mask::rwx,other::---');
    expect(unknown).toEqual(['user lisa', 'group x']);
  });

  it('is left out if the mode says the same', () => {
    expect(parseAcl(bs('user::rw-,group::r--,other::r--'), nobodyHere).value).toBeUndefined();
  });

  it.each([
    'user::rwz',
    'nonsense',
    'user:5:rwx',
    'user::rwx,user::r--,user:5:r--,group::r--,other::r--',
    'user:4294967295:r--',
    'everyone@:r::allow',
  ])('is refused: %s', (text) => {
    expect(() => parseAcl(bs(text), nobodyHere)).toThrow();
  });

  it('of an unknown form is not guessed', () => {
    expect(formatAcl(Buffer.from('010000000100060000000000', 'hex'))).toBeUndefined();
    expect(formatAcl(Buffer.alloc(3))).toBeUndefined();
  });
});

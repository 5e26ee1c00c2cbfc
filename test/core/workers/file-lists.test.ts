import * as fc from 'fast-check';
import { expect } from 'vitest';

import type { ListedFile } from '../../../src/core/files/source/source-stream.ts';
import type { FileToWrite } from '../../../src/core/files/target/target-file.ts';
import { createTargetPolicy } from '../../../src/core/files/target/target-policy.ts';
import { accessTimeExtensions } from '../../../src/core/format/tree/access-time.ts';
import { byteStringFromBytes, byteStringFromText } from '../../../src/core/util/byte-string.ts';
import {
  packFilesToWrite,
  packListed,
  unpackFilesToWrite,
  unpackListed,
} from '../../../src/core/workers/file-lists.ts';
import { testProperty } from '../../support/property.ts';

const bytes = fc.uint8Array({ min: 1, minLength: 1, maxLength: 30 });
const path = bytes.map(byteStringFromBytes);
const NO_NAME = byteStringFromText('');
const whole = fc.maxSafeInteger();
const id = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const time = { mtimeSeconds: whole, mtimeNanoseconds: fc.integer({ min: 0, max: 999_999_999 }) };
const changed = { ctimeSeconds: whole, ctimeNanoseconds: fc.integer({ min: 0, max: 999_999_999 }) };
const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });

const listed: fc.Arbitrary<ListedFile> = fc.record({
  path,
  metadata: fc.record({
    uid: number,
    sizeBytes: whole,
    allocatedBytes: whole,
    inode: id,
    device: id,
    ...time,
    ...changed,
  }),
});
const nobody = { type: 'file', user: NO_NAME, group: NO_NAME } as const;
const attributeName = fc.uint8Array({ min: 1, minLength: 1, maxLength: 30 }).map(byteStringFromBytes);
const xattrs = fc.array(fc.record({ name: attributeName, value: fc.uint8Array({ maxLength: 40 }) }), { maxLength: 3 });
const accessed = fc.record({ seconds: fc.maxSafeInteger(), nanoseconds: fc.nat(999_999_999) });
const written = fc
  .record({
    path,
    replaces: fc.boolean(),
    uid: number,
    gid: number,
    mode: number,
    ...time,
    sizeBytes: whole,
    xattrs,
    inodeFlags: number,
    extensions: fc.option(accessed, { nil: undefined }).map(accessTimeExtensions),
    inheritsAcl: fc.boolean(),
  })
  .map((file): FileToWrite => ({ ...file, ...nobody }));

/** As for another thread. */
function sent<T>(value: T): T {
  return structuredClone(value);
}

testProperty('files to read arrive as they were listed', (check) => {
  check(
    fc.property(fc.array(listed), (files) => {
      const packed = packListed(files);
      expect(packed.count).toBe(files.length);
      expect(unpackListed(sent(packed))).toEqual(files);
    }),
  );
});

testProperty('files to write arrive as they are to be', (check) => {
  check(
    fc.property(fc.array(written), (files) => {
      const packed = packFilesToWrite(
        files,
        files.map((file) => file.path),
        createTargetPolicy(),
      );
      expect(packed.count).toBe(files.length);
      expect(unpackFilesToWrite(sent(packed))).toEqual(files);
    }),
  );
});

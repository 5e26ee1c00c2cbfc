import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { NO_SOURCE_ATTRIBUTES } from '../../../../src/core/files/source/source-attributes.ts';
import {
  SourceStream,
  SwappedError,
  isUnchanged,
  readAsListed,
} from '../../../../src/core/files/source/source-stream.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';

const MIB = 1024 * 1024;

it('a file that grows as fast as it is read comes to an end', () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, 'small');
  const path = byteStringFromText(file);
  const stream = new SourceStream({ path, metadata: readMetadata(path) });
  const buffer = Buffer.alloc(32 * MIB);
  for (let round = 0; round < 20 && !stream.isAtEnd; round += 1) {
    truncateSync(file, statSync(file).size + 40 * MIB);
    stream.fill(buffer, 0);
  }
  stream.close();
  expect(stream.isAtEnd).toBe(true);
  expect(stream.sizeBytes).toBeGreaterThan(64 * MIB);
});

it.runIf(process.platform === 'linux')('what has no size to go by is read on', () => {
  // As files of some FUSE file systems, which say 0 and give gigabytes.
  const path = byteStringFromText('/dev/zero');
  const stream = new SourceStream({ path, metadata: readMetadata(path) });
  const buffer = Buffer.alloc(32 * MIB);
  for (let round = 0; round < 4; round += 1) stream.fill(buffer, 0);
  stream.close();
  expect(stream.isAtEnd).toBe(false);
  expect(stream.sizeBytes).toBe(128 * MIB);
});

it('a file that has grown by much since it was listed, and stays, is read whole', () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, 'small');
  const path = byteStringFromText(file);
  const stream = new SourceStream({ path, metadata: readMetadata(path) });
  truncateSync(file, 300 * MIB);
  const buffer = Buffer.alloc(32 * MIB);
  while (!stream.isAtEnd) stream.fill(buffer, 0);
  stream.close();
  expect(stream.sizeBytes).toBe(300 * MIB);
});

it.each([
  ['sizeBytes', 1],
  ['mtimeSeconds', -1],
  ['mtimeNanoseconds', 1],
  ['ctimeSeconds', 1],
  ['ctimeNanoseconds', 1],
] as const)('a file with another %s has changed', (field, difference) => {
  const path = byteStringFromText(join(temporaryDirectory(), 'file'));
  writeFileSync(path, 'content');
  const metadata = readMetadata(path);
  const changed = { ...metadata, [field]: metadata[field] + difference };
  expect(isUnchanged(metadata, readMetadata(path))).toBe(true);
  expect(isUnchanged(metadata, changed)).toBe(false);
  const target = Buffer.alloc(20);
  expect(readAsListed({ path, metadata }, target)).toBe(NO_SOURCE_ATTRIBUTES);
  expect(readAsListed({ path, metadata: changed }, target)).toBeUndefined();
});

it.each(['inode', 'device'] as const)('a file with another %s than its directory said is another file', (field) => {
  const path = byteStringFromText(join(temporaryDirectory(), 'file'));
  writeFileSync(path, 'content');
  const metadata = readMetadata(path);
  const stream = new SourceStream({ path, metadata: { ...metadata, [field]: metadata[field] + 1n } });
  expect(() => stream.assertSame()).toThrow(SwappedError);
  stream.close();
});

it('what becomes a hole after it was read is none, and what was one before and after is', ({ skip }) => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, Buffer.alloc(MIB, 1));
  truncateSync(file, 2 * MIB);
  const path = byteStringFromText(file);
  const metadata = readMetadata(path);
  skip(metadata.allocatedBytes >= 2 * MIB, 'the file system keeps no holes');
  const stream = new SourceStream({ path, metadata });
  const buffer = Buffer.alloc(4 * MIB);
  expect(stream.fill(buffer, 0)).toBe(2 * MIB);
  expect(buffer.subarray(0, MIB).equals(Buffer.alloc(MIB, 1))).toBe(true);
  truncateSync(file, 0);
  truncateSync(file, 2 * MIB);
  expect([...stream.attributes().holes]).toEqual([MIB, 2 * MIB]);
  stream.close();
});

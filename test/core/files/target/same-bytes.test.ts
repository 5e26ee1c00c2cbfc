import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { CancelledError } from '../../../../src/core/errors.ts';
import { fileStateAt } from '../../../../src/core/files/target/hard-link.ts';
import type { KnownFile } from '../../../../src/core/files/target/hard-link.ts';
import { haveSameBytes } from '../../../../src/core/files/target/same-bytes.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { memoryDirectory } from '../../../support/temp-directory.ts';
import { isRoot } from '../../../support/unprivileged.ts';

const MIB = 2 ** 20;
const unpaused = (): undefined => undefined;

function makePair(one: Buffer, other: Buffer): { file: KnownFile; path: ByteString; otherPath: ByteString } {
  const directory = memoryDirectory();
  const [path, otherPath] = ['one', 'other'].map((name) => byteStringFromText(join(directory, name))) as [
    ByteString,
    ByteString,
  ];
  writeFileSync(path, one);
  writeFileSync(otherPath, other);
  return { file: { path, state: fileStateAt(path)! }, path, otherPath };
}

it('compares all bytes, and pauses after each MiB', async () => {
  const bytes = Buffer.alloc(2 * MIB + 1, 7);
  let pauseCount = 0;
  const pause = async (): Promise<void> => {
    pauseCount += 1;
  };
  const same = makePair(bytes, bytes);
  expect(await haveSameBytes(same.file, same.otherPath, pause)).toBe(true);
  expect(pauseCount).toBe(3);
  const last = Buffer.from(bytes);
  last[2 * MIB] = 8;
  for (const other of [last, bytes.subarray(1), Buffer.alloc(0)]) {
    const pair = makePair(bytes, other);
    expect(await haveSameBytes(pair.file, pair.otherPath, unpaused)).toBe(false);
  }
});

it('ends when the pause says so', async () => {
  const { file, otherPath } = makePair(Buffer.alloc(3 * MIB), Buffer.alloc(3 * MIB));
  const cancelled = new CancelledError('SIGINT');
  const pause = (): undefined => {
    throw cancelled;
  };
  await expect(haveSameBytes(file, otherPath, pause)).rejects.toBe(cancelled);
});

it('takes what cannot be read, or was exchanged, for different', async () => {
  const bytes = Buffer.from('content');
  const exchanged = makePair(bytes, bytes);
  expect(await haveSameBytes({ ...exchanged.file, state: 'another' }, exchanged.otherPath, unpaused)).toBe(false);
  const { file, otherPath } = makePair(bytes, bytes);
  expect(await haveSameBytes(file, `${otherPath}-missing` as ByteString, unpaused)).toBe(false);
  mkdirSync(`${otherPath}-directory`);
  expect(await haveSameBytes(file, `${otherPath}-directory` as ByteString, unpaused)).toBe(false);
  if (isRoot) return;
  chmodSync(otherPath, 0);
  expect(await haveSameBytes(file, otherPath, unpaused)).toBe(false);
});

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { frameOutputBytesMax } from '../../../src/core/workers/zstd-frame.ts';
import { createPrng } from '../../support/prng.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { makeText } from '../../support/tree-paths.ts';
import { zstdImplementations } from '../../support/zstd-implementations.ts';

const KIB = 1024;
const BLOCK_BYTES = 128 * KIB;
const prng = createPrng(20261120);

/** Contents that make raw, repeated (RLE) and compressed blocks, alone and mixed, at sizes around a block's. */
const CONTENTS: readonly (readonly [string, Buffer])[] = [
  ...[1, 255, 256, 65_791, 65_792, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 5 * BLOCK_BYTES].flatMap(
    (sizeBytes): [string, Buffer][] => [
      [`zeros ${sizeBytes}`, Buffer.alloc(sizeBytes)],
      [`noise ${sizeBytes}`, prng.bytes(sizeBytes)],
      [`text ${sizeBytes}`, makeText(prng, sizeBytes)],
    ],
  ),
  ['mixed', Buffer.concat([prng.bytes(300 * KIB), Buffer.alloc(300 * KIB), makeText(prng, 300 * KIB)])],
];

/** Never too low, and no more than whole blocks too high. */
function expectBound(frame: Buffer, rawBytes: number, what: string): void {
  const bound = frameOutputBytesMax(frame);
  expect(bound, what).toBeGreaterThanOrEqual(rawBytes);
  // Compressors cut a block of 128 KiB in a few smaller ones where its parts differ; each counts as a whole one.
  expect(bound, what).toBeLessThanOrEqual(rawBytes * 8 + BLOCK_BYTES);
}

describe.each(zstdImplementations)('frames by %s', (name, implementation) => {
  test.each([-7, 1, 3, 9])('are bounded by their block headers, level %i', (level) => {
    for (const [what, content] of CONTENTS) {
      expectBound(Buffer.from(implementation.compress(content, level)), content.length, `${name} ${what}`);
    }
  });

  test('an empty frame unfolds to nothing much', () => {
    expectBound(Buffer.from(implementation.compress(Buffer.alloc(0), 3)), 0, 'empty');
  });
});

const hasProgram = spawnSync('zstd', ['--version']).status === 0;

/** `zstd` from standard input to standard output. */
function zstd(input: Buffer, ...options: string[]): Buffer {
  const run = spawnSync('zstd', ['-q', '-c', ...options], { input, maxBuffer: 64 * 1024 * KIB });
  expect(run.stderr.toString()).toBe('');
  return run.stdout;
}

/** The frames of all contents, in their order, by one run of `zstd` for all: to start it takes longer than most frames. */
function framesOf(...options: string[]): Buffer[] {
  const directory = temporaryDirectory();
  const files = CONTENTS.map((_, index) => join(directory, `content-${index}`));
  for (const [index, [, content]] of CONTENTS.entries()) writeFileSync(files[index]!, content);
  const run = spawnSync('zstd', ['-q', ...options, '--output-dir-flat', directory, ...files], { encoding: 'utf8' });
  expect([run.stderr, run.status]).toEqual(['', 0]);
  return files.map((file) => readFileSync(`${file}.zst`));
}

function expectBounds(frames: readonly Buffer[]): void {
  for (const [index, [what, content]] of CONTENTS.entries()) expectBound(frames[index]!, content.length, what);
}

describe('frames of the zstd program', () => {
  beforeEach(({ skip }) => skip(!hasProgram, 'zstd is not installed'));

  test.each([
    ['with a checksum', ['--check']],
    ['without one', ['--no-check']],
    ['of a stream of unknown size', ['--no-check', '--no-content-size']],
    ['of long distance matching', ['--long=27']],
    ['of many threads', ['-T4']],
    ['of the fastest level', ['--fast=50']],
    ['of a high level', ['-12']],
  ])('%s', (_, options) => {
    // As of a stream, of which one more is made.
    expectBounds(framesOf(...options, '--no-content-size'));
    const [what, content] = CONTENTS.at(-1)!;
    expectBound(zstd(content, ...options), content.length, what);
  });

  test('of files, whose sizes are known', () => {
    expectBounds(framesOf());
  });

  test('of a dictionary, whose id lengthens the header', () => {
    const directory = temporaryDirectory();
    const samples = Array.from({ length: 200 }, (_, index) => join(directory, `sample-${index}`));
    for (const sample of samples) writeFileSync(sample, makeText(prng, 2000));
    const dictionary = join(directory, 'dictionary');
    for (const dictionaryId of [7, 700, 700_000]) {
      const options = [
        '-q',
        '--train',
        '--maxdict=4096',
        `--dictID=${dictionaryId}`,
        '-o',
        dictionary,
        '-f',
        ...samples,
      ];
      expect(spawnSync('zstd', options).status).toBe(0);
      expectBounds(framesOf('-D', dictionary, '--no-content-size'));
    }
  });

  test('that are skippable, or preceded by one, are refused', () => {
    const skippable = Buffer.from('502a4d1804000000deadbeef', 'hex');
    expect(() => frameOutputBytesMax(skippable)).toThrow(CorruptDataError);
    expect(() => frameOutputBytesMax(Buffer.concat([skippable, zstd(Buffer.from('text'))]))).toThrow(CorruptDataError);
  });
});

describe('frames by hand (RFC 8878, 3.1.1)', () => {
  const magic = '28b52ffd';

  function frameOf(hex: string): Buffer {
    return Buffer.from(magic + hex.replaceAll(' ', ''), 'hex');
  }

  test.each([
    ['one raw block of 3 bytes', '20 03 190000 616263', 3],
    ['one repeated block of 100,000 bytes', '00 58 030d0c 00', 0x18_1a0],
    ['a raw block, and a repeated one as the last', '00 58 080000 61 130000 62', 3],
    ['a checksum', '24 01 090000 61 00000000', 1],
    ['a window and a size of 2 bytes', '40 58 0000 010000', 0],
    ['a dictionary id of 1 byte', '21 07 01 090000 61', 1],
    ['a dictionary id of 4 bytes and a size of 8', 'c3 58 07000000 0100000000000000 090000 61', 1],
  ])('%s', (_, hex, bound) => {
    expect(frameOutputBytesMax(frameOf(hex))).toBe(bound);
  });

  test.each([
    ['nothing', ''],
    ['no block', '20 03'],
    ['half a block header', '20 03 19 00'],
    ['a last block that is cut', '20 03 190000 6162'],
    ['no last block', '00 58 080000 61'],
    ['a byte too many', '20 03 190000 616263 00'],
    ['a checksum that is cut', '24 01 090000 61 000000'],
    ['a checksum that was not announced', '20 01 090000 61 00000000'],
  ])('%s is damage', (_, hex) => {
    expect(() => frameOutputBytesMax(frameOf(hex))).toThrow(CorruptDataError);
  });

  test('other bytes are damage', () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.alloc(20),
      Buffer.from('1f8b0800000000000003', 'hex'),
      prng.bytes(50),
    ]) {
      expect(() => frameOutputBytesMax(bytes)).toThrow(CorruptDataError);
    }
  });
});

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ChunkerParameters } from '../../../src/core/chunking/chunker.ts';
import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import { createPublicGear } from '../../../src/core/chunking/gear.ts';
import { createKeyedGear } from '../../../src/core/chunking/keyed-gear.ts';
import { createReferenceChunker } from '../../../src/core/chunking/reference-chunker.ts';
import { createPrng } from '../../support/prng.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

interface GoldenVector {
  readonly name: string;
  readonly parameters: ChunkerParameters;
  /** 64 hex digits, if the boundaries are secret. */
  readonly key?: string;
  readonly data: {
    readonly seed: number;
    readonly patternSizeBytes: number;
    readonly sizeBytes: number;
    readonly zeroSizeBytes: number;
    readonly sha256: string;
  };
  readonly cuts: readonly number[];
}

const FILE = new URL('../../../fixtures/vectors/chunker.json', import.meta.url);
const { vectors } = JSON.parse(readFileSync(FILE, 'utf8')) as { vectors: readonly GoldenVector[] };

function createData({ seed, patternSizeBytes, sizeBytes, zeroSizeBytes }: GoldenVector['data']): Buffer {
  const pattern = createPrng(seed).bytes(patternSizeBytes);
  return Buffer.concat([Buffer.alloc(sizeBytes, pattern), Buffer.alloc(zeroSizeBytes)]);
}

describe.each(vectors)('golden cut points: $name', ({ parameters, key, data, cuts }) => {
  const bytes = createData(data);

  test('the data are those that the cut points were made from', () => {
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(data.sha256);
  });

  test('the chunker of the command line', () => {
    expect(streamCuts(createChunker(parameters, key), bytes)).toEqual(cuts);
  });

  if (parameters.kind === 'fastcdc') {
    test('the reference', () => {
      const gear = key === undefined ? createPublicGear() : createKeyedGear(Buffer.from(key, 'hex'));
      expect(streamCuts(createReferenceChunker(parameters, gear), bytes)).toEqual(cuts);
    });
  }
});

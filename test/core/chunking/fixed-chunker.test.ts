import { expect, test } from 'vitest';
import { createFixedChunker } from '../../../src/core/chunking/create-chunker.ts';
import { runChunkerContract } from '../../contracts/chunker-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

runChunkerContract('the fixed chunker', createFixedChunker, { kind: 'fixed', sizeBytes: 1000 });
runChunkerContract('the fixed chunker with an odd size', createFixedChunker, { kind: 'fixed', sizeBytes: 4097 });

test('every chunk but the last has exactly the size asked for, whatever the bytes', () => {
  const chunker = createFixedChunker({ kind: 'fixed', sizeBytes: 100 });
  expect(streamCuts(chunker, createPrng(1).bytes(350))).toEqual([100, 200, 300, 350]);
  expect(streamCuts(chunker, createPrng(2).bytes(200))).toEqual([100, 200]);
});

import { createReferenceChunker } from '../../src/chunking/reference-chunker.ts';
import { runChunkerContract } from '../contracts/chunker-contract.ts';

runChunkerContract('the reference chunker', createReferenceChunker, {
  kind: 'fastcdc',
  minSizeBytes: 256,
  averageSizeBytes: 1024,
  maxSizeBytes: 4096,
});

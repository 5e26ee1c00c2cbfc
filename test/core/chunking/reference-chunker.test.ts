import type { FastCdcParameters } from '../../../src/core/chunking/chunker.ts';
import { createKeyedGear } from '../../../src/core/chunking/keyed-gear.ts';
import { createReferenceChunker } from '../../../src/core/chunking/reference-chunker.ts';
import { runChunkerContract } from '../../contracts/chunker-contract.ts';

const SIZES: FastCdcParameters = { kind: 'fastcdc', minSizeBytes: 256, averageSizeBytes: 1024, maxSizeBytes: 4096 };

runChunkerContract('the reference chunker', (sizes) => createReferenceChunker(sizes), SIZES);

const gear = createKeyedGear(Buffer.alloc(32, 1));
runChunkerContract('the reference chunker with a key', (sizes) => createReferenceChunker(sizes, gear), SIZES);

import { isDeepStrictEqual } from 'node:util';
import { createChunker } from '../chunking/create-chunker.ts';
import { smallChunksOf } from '../chunking/small-chunks.ts';
import type { Chunker } from '../chunking/chunker.ts';
import type { Repository } from '../repository/repository.ts';

/** Creates the chunker of a repository. */
export function chunkerOf({ config }: Repository): Chunker {
  return createChunker(config.chunker, config.encryption?.chunkerKey);
}

/** Creates the chunker for small chunks. Undefined if those of the repository are small already. */
export function smallChunkerOf({ config }: Repository): Chunker | undefined {
  const parameters = smallChunksOf(config.chunker);
  return parameters && createChunker(parameters, config.encryption?.chunkerKey);
}

/** Whether two repositories cut every file at the same places. Chunks of a fixed size need no key for that. */
export function haveSameChunker(one: Repository, other: Repository): boolean {
  const keyOf = ({ config }: Repository): string | undefined =>
    config.chunker.kind === 'fixed' ? undefined : config.encryption?.chunkerKey;
  return isDeepStrictEqual(one.config.chunker, other.config.chunker) && keyOf(one) === keyOf(other);
}

const PROBE = new TextEncoder().encode('ldm');

/** Whether a chunk has the same id in two repositories. Ids are keyed hashes, so one of each kind tells. */
export function haveSameIds(one: Repository, other: Repository): boolean {
  const idsOf = ({ hasher }: Repository): Uint8Array[] => [hasher.dataId(PROBE), hasher.treeId(PROBE)];
  return isDeepStrictEqual(idsOf(one), idsOf(other));
}

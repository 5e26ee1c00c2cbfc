import { CorruptDataError } from '../errors.ts';

/** The content of a chunk: a piece of a file, or one serialised directory. */
export type ChunkKind = 'data' | 'tree';

const KIND_DATA = 1;
const KIND_TREE = 2;

export function codeOfChunkKind(kind: ChunkKind): number {
  return kind === 'data' ? KIND_DATA : KIND_TREE;
}

/** @throws CorruptDataError if the code is unknown */
export function chunkKindOfCode(code: number, what: string): ChunkKind {
  if (code === KIND_DATA) return 'data';
  if (code === KIND_TREE) return 'tree';
  throw new CorruptDataError(`${what}: kind ${code} is neither data (${KIND_DATA}) nor tree (${KIND_TREE})`);
}

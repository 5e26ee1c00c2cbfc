import { CorruptDataError } from '../errors.ts';

/** What a chunk holds: a piece of a file, or one serialised directory. */
export type ChunkKind = 'data' | 'tree';

const KIND_DATA = 1;
const KIND_TREE = 2;

export function codeOfChunkKind(kind: ChunkKind): number {
  return kind === 'data' ? KIND_DATA : KIND_TREE;
}

/** @throws CorruptDataError for a code that names no kind */
export function chunkKindOfCode(code: number, what: string): ChunkKind {
  if (code === KIND_DATA) return 'data';
  if (code === KIND_TREE) return 'tree';
  throw new CorruptDataError(`${what}: kind ${code} is neither data (${KIND_DATA}) nor tree (${KIND_TREE})`);
}

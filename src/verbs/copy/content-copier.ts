import type { Repository } from '../../core/repository/repository.ts';
import type { ChunkQueue } from '../../core/saving/chunk-queue.ts';
import type { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import type { Content } from './cut-memo.ts';

/** Copies the contents of files, and knows which chunks of the destination have them. */
export interface ContentCopier {
  /** Whether the destination has all of a content in chunks that are known. */
  knows(content: Content): boolean;
  /** Whether a chunk has to be read before the contents with it are known. */
  isNew(entry: number): boolean;
  /** Plans a content that is not known. Returns whether it has chunks that were not planned or copied before. */
  plan(content: Content): boolean;
  /** Whether `copyPlanned` must be called before more is planned. */
  readonly isPlanFull: boolean;
  /** Copies what is planned. Then it is known. */
  copyPlanned(): Promise<void>;
  /** Forgets what is planned, because a snapshot cannot be copied. */
  forgetPlan(): void;
  /** Returns the ids of the chunks of a known content in the destination, valid until the next call. */
  idsOf(content: Content): Uint8Array;
  /** Learns the chunks of a content from an earlier copy. All of them must be in the destination. */
  learn(content: Content, copyIds: Uint8Array): void;
}

/** What all copiers need. */
export interface CopierServices {
  readonly source: OpenedState;
  readonly destination: OpenedState;
  readonly hasher: Repository['hasher'];
  readonly chunks: RepositoryChunkSaver;
  readonly queue: ChunkQueue;
  /** Called with the id of a tree of the destination that cannot be read. */
  readonly onDamagedCopy: (treeId: Uint8Array) => void;
  readonly work: CopyWork;
  readonly pacer: Pacer;
  /** How many blocks keep the threads busy. */
  readonly atOnce: number;
}

/** Counts what was read and written. */
interface CopyWork {
  /** Bytes of a file that were read. */
  addData(count: number): void;
  /** Bytes of a tree that was copied. */
  addTree(count: number): void;
}

/** Numbers of chunks that are planned at a time: they take 20 to 60 bytes each. */
export const PLANNED_CHUNKS_MAX: number = 2 ** 18;

/** Handing a chunk to a thread takes longer than hashing this many bytes. */
const HASHED_HERE_BYTES_MAX = 32 * 1024;

/** Hashes and stores a chunk. Copies the bytes. */
export async function storeChunk(
  { hasher, chunks, queue }: CopierServices,
  bytes: Uint8Array,
  onStored: (id: Uint8Array) => void,
): Promise<void> {
  if (bytes.length > HASHED_HERE_BYTES_MAX) return await queue.append(bytes, onStored);
  const id = hasher.dataId(bytes);
  await chunks.put('data', id, bytes);
  onStored(id);
}

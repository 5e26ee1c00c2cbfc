import type { ChunkKind } from '../format/chunk-kind.ts';
import type { ChunkWriter, StagedChunk } from '../store/chunk-writer.ts';
import type { Progress } from '../session/progress.ts';
import type { ChunkLender } from '../session/extension.ts';
import type { ReusedSample } from './reused-sample.ts';

/** Saves the chunks of a new snapshot: stores those that the repository lacks. */
export interface ChunkSaver {
  /** Returns whether a chunk is stored in a pack that is safe to use. If so, the new snapshot relies on that pack. */
  has(ids: Uint8Array, offset: number): boolean;

  /** Call it before `has` for what cannot be read again. Missing where `has` is sure, or a mistake is found in time. */
  lookFor?(id: Uint8Array): Promise<void>;

  /**
   * Like `has`, for all chunks of a file. Also returns false if their lengths do not add up to the file size. `isEarlier`: one
   * of the earlier snapshots, as named by `relyOn`, has this file.
   */
  hasFile(ids: Uint8Array, sizeBytes: number, isEarlier?: boolean): boolean;

  /**
   * Stores a chunk if it is new; copies the bytes. If a promise is returned, the caller must wait for it. `isEarlier`: one
   * of the earlier snapshots has this tree.
   */
  put(kind: ChunkKind, id: Uint8Array, bytes: Uint8Array, isEarlier?: boolean): Promise<void> | undefined;

  /** Copies a large chunk of a file and hashes it in another thread. Pass the result to `putStaged` or `drop`. */
  stage(bytes: Uint8Array): HashingChunk;

  /** Like `put`, for a chunk from `stage`. Returns its id. */
  putStaged(chunk: HashingChunk): Promise<Uint8Array>;

  /** Discards a chunk from `stage`. Its id is ignored: it may be computed from memory that is already reused. */
  drop(chunk: HashingChunk): void;

  /** Returns memory for a large tree. Pass it to `putLarge`. */
  allocate(sizeBytes: number): Buffer;

  /** Like `put`, but without a copy. The tree must start at the beginning of memory from `allocate`. */
  putLarge(treeId: Uint8Array, tree: StagedChunk, isEarlier?: boolean): Promise<void> | undefined;

  /** Makes all chunks saved so far durable: writes their packs and a segment that lists the packs. The last call. */
  finish(): Promise<void>;

  /** Instead of `finish`, if the snapshot cannot be completed. */
  abandon(): Promise<void>;
}

/** A staged chunk whose id is being computed. */
export interface HashingChunk {
  readonly lengthBytes: number;
  readonly bytes: Uint8Array;
  readonly hashing: ReturnType<ChunkWriter['startHash']>;
  /** Undefined in a dry run. */
  readonly staged?: StagedChunk;
}

export interface ChunkSaverOptions {
  readonly writes: boolean;
  /** Packs that may be removed at any moment. Their chunks are stored again. */
  readonly condemnedPackIds: ReadonlySet<string>;
  /** Packs in no group that can be reached. Their chunks count as stored, and are counted. Default: none. */
  readonly offlinePackIds?: ReadonlySet<string>;
  readonly progress?: Progress | undefined;
  /** Another repository that may keep new chunks of files. */
  readonly lender?: ChunkLender | undefined;
  /** Some of the chunks that are reused, to be verified later. */
  readonly sample?: ReusedSample | undefined;
}

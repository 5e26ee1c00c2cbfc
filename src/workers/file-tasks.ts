import { chunkIdOf } from '../crypto/chunk-hasher.ts';
import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import { TargetError } from '../errors.ts';
import { readAsListed } from '../files/source-stream.ts';
import { writeTargetFile } from '../files/target-file.ts';
import type { TargetPolicy } from '../files/target-policy.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { unpackFilesToWrite, unpackListed } from './file-lists.ts';
import type { FilesToWrite, ListedFiles } from './file-lists.ts';

/** Reads small files, one after the other, into one piece of shared memory. */
export interface ReadTask {
  readonly name: 'read';
  readonly files: ListedFiles;
  /** The files stand in it as they come, each with a byte more than it is long. */
  readonly target: Uint8Array;
  readonly key: ChunkIdKey;
}

/** By file, what a `ReadTask` found. */
export interface FilesRead {
  /** 1 where all of the file is in the target, and it still is what was listed. */
  readonly isAsListed: Uint8Array;
  /** Of those, the ids of their bytes as one chunk, in a row. */
  readonly chunkIds: Uint8Array;
}

/** Writes small files; gives, by file, 1 where it is there with all that it should have, and 0 where it has to be written again. */
export interface WriteTask {
  readonly name: 'write';
  readonly files: FilesToWrite;
  /** The contents in a row. */
  readonly source: Uint8Array;
  readonly policy: TargetPolicy;
}

export function readFiles({ files, target, key }: ReadTask): FilesRead {
  const isAsListed = new Uint8Array(files.count);
  const chunkIds = new Uint8Array(files.count * CHUNK_ID_BYTES);
  let offset = 0;
  for (const [index, file] of unpackListed(files).entries()) {
    const { sizeBytes } = file.metadata;
    if (readAsListed(file, target.subarray(offset, offset + sizeBytes + 1))) {
      isAsListed[index] = 1;
      chunkIds.set(chunkIdOf(key, target.subarray(offset, offset + sizeBytes)), index * CHUNK_ID_BYTES);
    }
    offset += sizeBytes + 1;
  }
  return { isAsListed, chunkIds };
}

export function writeFiles({ files, source, policy }: WriteTask): Uint8Array {
  const isWritten = new Uint8Array(files.count);
  let offset = 0;
  for (const [index, { place, metadata, sizeBytes }] of unpackFilesToWrite(files).entries()) {
    const bytes = source.subarray(offset, offset + sizeBytes);
    try {
      writeTargetFile(place, bytes, metadata, { policy, isStrict: true });
      isWritten[index] = 1;
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
    }
    offset += sizeBytes;
  }
  return isWritten;
}

import { chunkIdOf } from '../crypto/chunk-hasher.ts';
import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import { TargetError } from '../errors.ts';
import { readAsListed } from '../files/source-stream.ts';
import { writeTargetFile } from '../files/target-file.ts';
import type { TargetPolicy } from '../files/target-policy.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { unpackFilesToWrite, unpackListed } from './file-lists.ts';
import type { FilesToWrite, ListedFiles } from './file-lists.ts';

/** Reads small files in sequence into one buffer of shared memory. */
export interface ReadTask {
  readonly name: 'read';
  readonly files: ListedFiles;
  /** The files are stored in sequence, with one extra byte after each. */
  readonly target: Uint8Array;
  readonly key: ChunkIdKey;
}

/** The results of a `ReadTask` for each file. */
export interface FilesRead {
  /** 1 if the target contains the complete file and the file has not changed since it was listed. */
  readonly isAsListed: Uint8Array;
  /** The ids of these files, each hashed as a single chunk, concatenated. */
  readonly chunkIds: Uint8Array;
}

/** Writes small files. Returns 1 for each file that is complete, and 0 for each that must be written again. */
export interface WriteTask {
  readonly name: 'write';
  readonly files: FilesToWrite;
  /** The concatenated contents. */
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

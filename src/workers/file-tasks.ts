import { chunkIdOf } from '../crypto/chunk-hasher.ts';
import { TargetError } from '../errors.ts';
import { readAsListed } from '../files/source-stream.ts';
import { writeTargetFile } from '../files/target-file.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { unpackFilesToWrite, unpackListed } from './file-lists.ts';
import type { FilesRead, ReadTask, WriteTask } from './task-messages.ts';

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

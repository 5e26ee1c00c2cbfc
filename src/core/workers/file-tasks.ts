import { chunkIdOf } from '../crypto/chunk-hasher.ts';
import { TargetError } from '../errors.ts';
import { createNamelessFile } from '../files/target/nameless-file.ts';
import { readAsListed } from '../files/source/source-stream.ts';
import { writeTargetFile } from '../files/target/target-file.ts';
import type { FileToWrite } from '../files/target/target-file.ts';
import type { TargetPolicy } from '../files/target/target-policy.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { AttributePacker } from '../files/source/attribute-lists.ts';
import { unpackFilesToWrite, unpackListed } from './file-lists.ts';
import type { FilesRead, ReadTask, WriteTask } from './task-messages.ts';

export function readFiles({ files, target, key }: ReadTask): FilesRead {
  const isAsListed = new Uint8Array(files.count);
  const chunkIds = new Uint8Array(files.count * CHUNK_ID_BYTES);
  const attributes = new AttributePacker(files.count);
  let offset = 0;
  for (const [index, file] of unpackListed(files).entries()) {
    const { sizeBytes } = file.metadata;
    const found = readAsListed(file, target.subarray(offset, offset + sizeBytes + 1));
    if (found !== undefined) {
      isAsListed[index] = 1;
      attributes.add(index, found);
      chunkIds.set(chunkIdOf(key, target.subarray(offset, offset + sizeBytes)), index * CHUNK_ID_BYTES);
    }
    offset += sizeBytes + 1;
  }
  return { isAsListed, chunkIds, attributes: attributes.finish() };
}

export function writeFiles({ files, source, policy }: WriteTask): Uint8Array {
  const isWritten = new Uint8Array(files.count);
  let offset = 0;
  for (const [index, file] of unpackFilesToWrite(files).entries()) {
    const bytes = source.subarray(offset, offset + file.sizeBytes);
    const isCreated = file.replaces ? undefined : createNamelessFile(file.path, bytes, file, policy);
    if (isCreated ?? isWrittenUnderTemporaryName(file, bytes, policy)) isWritten[index] = 1;
    offset += file.sizeBytes;
  }
  return isWritten;
}

function isWrittenUnderTemporaryName(file: FileToWrite, bytes: Uint8Array, policy: TargetPolicy): boolean {
  try {
    writeTargetFile(file, bytes, file, { policy, isStrict: true });
    return true;
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    return false;
  }
}

import { closeSync, createReadStream, fstatSync, openSync } from 'node:fs';
import { SourceError, UsageError } from '../errors.ts';
import { sourceError } from '../files/path-failures.ts';
import type { ArchiveBytes } from '../operations/import-tar.ts';
import { fsPath, textOf } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';
import { recoverBytes } from './raw-arguments.ts';
import { openStandardInput } from './standard-input.ts';

const READ_BYTES = 1024 * 1024;
const STANDARD_INPUT = 'standard input' as ByteString;

/**
 * Opens the archive that an argument names; `-` is standard input.
 * @throws UsageError if standard input is a terminal, or nothing that can be read
 * @throws SourceError if the file cannot be opened or is a directory, and later if it cannot be read
 */
export function openArchive(name: string): ArchiveBytes {
  if (name === '-') {
    if (process.stdin.isTTY) {
      throw new UsageError('standard input is a terminal, not an archive', { hint: 'Name a file, or use a pipe.' });
    }
    return readPieces(openStandardInput(), STANDARD_INPUT);
  }
  const path = recoverBytes([name])[0]!;
  return readPieces(createReadStream('', { fd: openFile(path), highWaterMark: READ_BYTES }), path);
}

function openFile(path: ByteString): number {
  let file: number;
  try {
    file = openSync(fsPath(path), 'r');
  } catch (cause) {
    throw sourceError({ operation: 'open', path, cause });
  }
  if (!fstatSync(file).isDirectory()) return file;
  closeSync(file);
  throw new SourceError(`${textOf(path)} is a directory, not an archive`, { path });
}

async function* readPieces(pieces: AsyncIterable<Uint8Array>, path: ByteString): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } catch (cause) {
    throw sourceError({ operation: 'read', path, cause });
  }
}

import type { Readable } from 'node:stream';
import { SourceError, UsageError } from '../../core/errors.ts';
import { sourceError } from '../../core/files/paths/path-failures.ts';
import type { ArchiveBytes } from './import-tar.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import { openReadable } from '../../console/input/readable-file.ts';
import { openStandardInput } from '../../console/input/standard-input.ts';

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
  return readPieces(openFile(path, name), path);
}

function openFile(path: ByteString, name: string): Readable {
  let file: Readable | undefined;
  try {
    file = openReadable(path);
  } catch (cause) {
    throw sourceError({ operation: 'open', path, cause });
  }
  if (file === undefined) throw new SourceError(`${name} is a directory, not an archive`, { path });
  return file;
}

async function* readPieces(pieces: AsyncIterable<Uint8Array>, path: ByteString): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } catch (cause) {
    throw sourceError({ operation: 'read', path, cause });
  }
}

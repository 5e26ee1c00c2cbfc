import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { keyStream, writeFile } from './make-big.ts';
import { selectFiles } from './select-files.ts';

/** As in a tar archive. */
const recordSizeBytes = 512;
const meanFileSizeBytes = 25_000;

/** Two files: one that no compressor shrinks, and about as much of /usr in one piece, as an archive or a disk image has it. */
export function makeArchive(directory: string, options: { roots: readonly string[]; sizeBytes: number }): void {
  const half = Math.floor(options.sizeBytes / 2);
  writeFile(join(directory, 'incompressible.bin'), { sizeBytes: half, nextPiece: keyStream(1) });
  const fileCount = Math.ceil(half / meanFileSizeBytes);
  const archive = openSync(join(directory, 'archive'), 'w');
  for (const { path, files } of selectFiles({ roots: options.roots, fileCount, sizeBytes: half })) {
    for (const name of files) append(archive, Buffer.from(`${path}/${name}`, 'latin1'));
  }
  closeSync(archive);
}

function append(archive: number, path: Buffer): void {
  try {
    const bytes = readFileSync(path);
    writeSync(archive, bytes);
    writeSync(archive, Buffer.alloc((recordSizeBytes - (bytes.length % recordSizeBytes)) % recordSizeBytes));
  } catch (error) {
    // Not everybody may read everything in /usr; the archive is then a little smaller.
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
  }
}

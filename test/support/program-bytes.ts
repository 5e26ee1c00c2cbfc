import { closeSync, openSync, readSync } from 'node:fs';

/** Real data that every machine has: the first bytes of the program of Node, with code, tables, text and zeros. */
export function programBytes(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  const descriptor = openSync(process.execPath, 'r');
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, sizeBytes, 0));
  } finally {
    closeSync(descriptor);
  }
}

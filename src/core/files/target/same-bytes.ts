import { closeSync, openSync, readSync } from 'node:fs';
import { SourceError } from '../../errors.ts';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fileStateOf } from './hard-link.ts';
import type { KnownFile } from './hard-link.ts';
import { errnoOf } from '../paths/path-failures.ts';
import { openSource } from '../source/source-files.ts';

const COMPARED_BYTES = 1 << 20;

/**
 * Returns whether two files have the same bytes. One that cannot be read, or that is another file by now, counts as
 * different. `pause` is called after each MiB: its promise is waited for, and what it throws ends the comparison.
 */
export async function haveSameBytes(
  file: KnownFile,
  other: ByteString,
  pause: () => Promise<void> | undefined,
): Promise<boolean> {
  const descriptors: number[] = [];
  const buffers = [Buffer.allocUnsafe(COMPARED_BYTES), Buffer.allocUnsafe(COMPARED_BYTES)];
  const isNextSame = (): boolean | undefined => {
    const [a, b] = buffers.map((buffer, index) => buffer.subarray(0, readSync(descriptors[index]!, buffer)));
    if (Buffer.compare(a!, b!) !== 0) return false;
    return a!.length === 0 ? true : undefined;
  };
  try {
    if (unlessUnreadable(() => openBoth(file, other, descriptors)) !== true) return false;
    for (;;) {
      const isSame = unlessUnreadable(isNextSame, false);
      if (isSame !== undefined) return isSame;
      const pausing = pause();
      if (pausing !== undefined) await pausing;
    }
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

function openBoth(file: KnownFile, other: ByteString, descriptors: number[]): boolean {
  descriptors.push(openSource(file.path));
  if (fileStateOf(descriptors[0]!) !== file.state) return false;
  descriptors.push(openSync(fsPath(other), 'r'));
  return true;
}

function unlessUnreadable<T>(read: () => T, otherwise?: T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SourceError) && errnoOf(error) === undefined) throw error;
    return otherwise;
  }
}

import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, statfsSync, writeSync } from 'node:fs';

import { onTestFinished } from 'vitest';

/** Mounts a small file system of its own; false where this user may not. It is gone when the test is over. */
export function mountTmpfs(directory: string, sizeBytes: number): boolean {
  mkdirSync(directory, { recursive: true });
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=700`, 'tmpfs', directory]);
  if (status !== 0) return false;
  onTestFinished(() => void spawnSync('umount', ['-l', directory]));
  return true;
}

/** Writes a file until not even one more byte fits. */
export function fillToTheLastByte(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let sizeBytes = 1 << 20; sizeBytes >= 1;) {
      try {
        if (writeSync(file, Buffer.alloc(sizeBytes)) < sizeBytes) sizeBytes = Math.floor(sizeBytes / 2);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
        sizeBytes = Math.floor(sizeBytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}

export function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

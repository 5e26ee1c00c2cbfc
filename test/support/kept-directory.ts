import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { memoryDirectory } from './temp-directory.ts';

/** Remembers what is in a directory. The function that comes back puts it there again, with its times. */
export function keepDirectory(directory: string): () => void {
  const kept = join(memoryDirectory(), 'kept');
  copy(directory, kept);
  return () => {
    rmSync(directory, { recursive: true });
    copy(kept, directory);
  };
}

/** Node's own copy keeps no nanoseconds. */
function copy(source: string, target: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', source, target]);
  if (status !== 0) throw new Error(`cp failed: ${stderr.toString()}`);
}

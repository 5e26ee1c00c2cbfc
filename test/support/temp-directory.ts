import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { MEMORY_PLACE } from './memory-place.ts';

/**
 * A new empty directory on a disk, for tests of what a file system does. It is removed when the test that asks for it is
 * over. Not for hooks: see `withTemporaryDirectory`.
 */
export function temporaryDirectory(): string {
  return directoryOfTest(tmpdir());
}

/** The same in memory, for tests in which a repository or a tree only has to be somewhere. */
export function memoryDirectory(): string {
  return directoryOfTest(MEMORY_PLACE);
}

function directoryOfTest(parent: string): string {
  const directory = makeTemporaryDirectory(parent);
  onTestFinished(() => removeTree(directory));
  return directory;
}

/** Runs `action` with a new empty directory in memory and removes it afterwards, whatever happens. */
export async function withTemporaryDirectory<T>(action: (directory: string) => Promise<T> | T): Promise<T> {
  const directory = makeTemporaryDirectory(MEMORY_PLACE);
  try {
    return await action(directory);
  } finally {
    removeTree(directory);
  }
}

/** In memory; the caller removes it. */
export function makeTemporaryDirectory(parent: string = MEMORY_PLACE): string {
  return mkdtempSync(join(parent, 'ldm-test-'));
}

/** Removes a tree. An ordinary user must first open the directories that a test has closed. */
export function removeTree(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    spawnSync('chmod', ['-R', 'u+rwX', directory]);
    // Unlike Node, it removes paths of any length.
    spawnSync('rm', ['-rf', directory]);
  }
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

/** A new empty directory, removed when the test that asks for it is over. Not for hooks: see `withTemporaryDirectory`. */
export function temporaryDirectory(): string {
  const directory = makeTemporaryDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs `action` with a new empty directory and removes it afterwards, whatever happens. */
export async function withTemporaryDirectory<T>(
  action: (directory: string) => Promise<T> | T,
  parent: string = tmpdir(),
): Promise<T> {
  const directory = makeTemporaryDirectory(parent);
  try {
    return await action(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function makeTemporaryDirectory(parent: string = tmpdir()): string {
  return mkdtempSync(join(parent, 'ldm-test-'));
}

import { expect } from 'vitest';

import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { BackendError } from '../../src/core/errors.ts';

/** Writes a whole file, forced to the disk. */
export async function writeFile(backend: FileSystemBackend, name: string, ...pieces: Uint8Array[]): Promise<void> {
  const writer = await backend.create(name);
  for (const piece of pieces) await writer.append(piece);
  await writer.sync();
  await writer.close();
}

/** Passes when `action` fails with a `BackendError` of this errno. */
export async function expectErrno(action: Promise<unknown>, errno: string): Promise<void> {
  const error = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BackendError);
  expect((error as BackendError).errno).toBe(errno);
}

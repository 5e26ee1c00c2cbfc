import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { MemoryBackend } from './memory-backend.ts';

/** Writes a repository that is in memory into a directory. */
export function copyToDirectory(backend: MemoryBackend, directory: string): void {
  for (const name of backend.directoryNames()) mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
  for (const name of backend.names()) writeFileSync(join(directory, name), backend.view(name), { mode: 0o600 });
}

import { restore } from '../../../src/verbs/restore/restore.ts';
import { readStoredFiles, openStranger } from '../../core/format/stranger-repository.ts';
import type { StrangerRepository } from '../../core/format/stranger-repository.ts';
import { contextOf } from '../encrypted-stage.ts';
import { MemoryBackend } from '../memory-backend.ts';
import { testPassword } from '../test-password.ts';
import type { Subject } from './ordeal.ts';

/** A repository to be changed inside its seals. */
export interface FuzzSubject extends Subject {
  readonly backend: MemoryBackend;
  readonly opened: StrangerRepository;
}

const FIXTURE = new URL('../../../fixtures/repositories/v1-encrypted', import.meta.url).pathname;
const PASSWORD = 'second password';
const EMPTY = ['locks', 'tmp', 'quarantine'];

/** The same in every run: a fixture, of which a copy of what is in its newest snapshot is in `directory`. */
export async function readFuzzSubject(directory: string): Promise<FuzzSubject> {
  const stored = readStoredFiles(FIXTURE);
  const backend = new MemoryBackend();
  for (const name of EMPTY) backend.pokeDirectory(name);
  for (const [name, bytes] of stored) backend.poke(name, bytes);
  const password = testPassword(PASSWORD);
  await restore(contextOf(backend, password), { selector: 'latest', target: directory });
  return { backend, password, opened: await openStranger(stored, PASSWORD), directory };
}

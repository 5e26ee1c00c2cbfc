import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { recoverFromGroups } from '../../src/verbs/group/group-recover.ts';
import { listGroups } from '../../src/verbs/group/groups.ts';
import type { GroupedRepository } from './grouped-repository.ts';
import { memoryDirectory } from './temp-directory.ts';

export function ownPlace({ directory }: GroupedRepository): string {
  return join(directory, 'repository');
}

export function copiesIn(repository: GroupedRepository, name: string, directory: string): string[] {
  const path = join(repository.place(name), 'metadata', directory);
  return existsSync(path) ? readdirSync(path) : [];
}

export async function statesOf({ context }: GroupedRepository): Promise<unknown[]> {
  return (await listGroups(context)).groups.map(({ metadata }) => metadata);
}

/** Keeps what is in a place, runs `change`, and puts it back. */
export async function rolledBack<T>(place: string, change: () => Promise<T>): Promise<T> {
  const yesterday = memoryDirectory();
  cpSync(place, yesterday, { recursive: true, preserveTimestamps: true });
  const result = await change();
  rmSync(place, { recursive: true });
  cpSync(yesterday, place, { recursive: true, preserveTimestamps: true });
  return result;
}

/** Loses the place of the repository, and makes it again. */
export async function recover(repository: GroupedRepository, ...names: string[]): Promise<void> {
  rmSync(ownPlace(repository), { recursive: true });
  Object.assign(repository.context, { backend: new LocalBackend(ownPlace(repository)) });
  await recoverFromGroups(
    repository.context,
    names.map((name) => repository.place(name)),
  );
}

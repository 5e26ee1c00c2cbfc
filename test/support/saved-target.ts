import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { OperationContext } from '../../src/core/session/context.ts';
import { makeTestRepository } from './test-repository.ts';
import type { TestRepository } from './test-repository.ts';

/** Writes a file, and creates the directories above it. */
export function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** A repository with a snapshot of a small tree, whose `source` was restored to `target`. */
export async function makeSaved(
  changes: Partial<OperationContext> = {},
): Promise<TestRepository & { readonly target: string }> {
  const repository = await makeTestRepository();
  Object.assign(repository.context, changes);
  for (const name of ['a', 'sub/b', 'sub/deep/c', 'other/d']) write(join(repository.source, name), name);
  await repository.backup();
  const target = join(repository.directory, 'target');
  await repository.restore({ selector: 'latest:source', target });
  return { ...repository, target };
}

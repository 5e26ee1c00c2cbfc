import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { PasswordSource } from '../../src/core/session/unlock.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { recoverFromGroups } from '../../src/verbs/group/group-recover.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { SMALL_SIZES } from './grouped-repository.ts';
import { createPrng } from './prng.ts';
import { memoryDirectory } from './temp-directory.ts';
import { testPassword } from './test-password.ts';
import { TINY_CHUNKS } from './test-repository.ts';
import { threadsOfTests } from './test-threads.ts';

export const OLD: PasswordSource = testPassword('old password');

export interface Stage {
  readonly directory: string;
  readonly context: OperationContext;
}

export interface Act {
  readonly run: (context: OperationContext, stage: Stage) => Promise<unknown>;
  readonly prepare?: (context: OperationContext, stage: Stage) => Promise<unknown>;
  readonly groups?: readonly string[];
  readonly isEncrypted?: boolean;
  /** How many of the snapshots it may have deleted when it is killed. */
  readonly deletes?: number;
}

export const backUp = async (context: OperationContext, { directory }: Stage): Promise<unknown> => {
  const source = join(directory, 'source');
  return await backup(context, { sources: [source], cwd: source });
};
export const deleteOne = async (context: OperationContext, reclaim: boolean): Promise<unknown> =>
  deleteSnapshots(context, { selectors: ['latest'], reclaim });

export async function makeStage({ groups = ['a', 'b'], isEncrypted = false }: Act): Promise<Stage> {
  const directory = memoryDirectory();
  const backend = new LocalBackend(join(directory, 'own'));
  const password = isEncrypted ? { password: OLD } : {};
  const context: OperationContext = { backend, threads: threadsOfTests(), storeSizes: SMALL_SIZES, ...password };
  const stage = { directory, context };
  mkdirSync(join(directory, 'source'));
  const places = groups.map((name) => ({ name, place: join(directory, name) }));
  await initRepository(context, {
    groups: places,
    copies: 2,
    chunker: TINY_CHUNKS,
    capacity: 256,
    encryption: isEncrypted ? 'always' : 'never',
  });
  for (const number of [1, 2]) {
    writeFileSync(join(directory, 'source', `file-${number}`), createPrng(number).bytes(50_000));
    await backUp(context, stage);
  }
  return stage;
}

export async function loseOwn({ directory, context }: Stage, from: string): Promise<OperationContext> {
  rmSync(join(directory, 'own'), { recursive: true });
  const fresh = { ...context, backend: new LocalBackend(join(directory, 'own')) };
  await recoverFromGroups(fresh, [join(directory, from)]);
  return fresh;
}

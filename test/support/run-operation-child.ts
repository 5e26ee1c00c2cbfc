import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

import type { CompiledProgram } from './compile-for-child.ts';
import type { Stage } from './crash-stage.ts';
import { copyToDirectory } from './memory-copy.ts';
import { runAction } from './operation-actions.ts';

export interface StagedAction {
  readonly stage: Stage;
  /** Where the stage's repository is put first; it must not exist. */
  readonly repository: string;
  /** The name of the action and its arguments, as operation-actions.ts takes them. */
  readonly action: readonly string[];
}

/** Runs an operation on a copy of a stage's repository in this process. Returns the number of operations on it. */
export async function countOperations({ stage, repository, action }: StagedAction): Promise<number> {
  mkdirSync(repository);
  copyToDirectory(stage.backend, repository);
  return await runAction(repository, action);
}

/** Runs it in a process that dies in the middle of it. Returns whether that process was killed. */
export function isKilledAt(failAt: number, child: CompiledProgram, given: StagedAction): boolean {
  mkdirSync(given.repository);
  copyToDirectory(given.stage.backend, given.repository);
  const words = [child.path, given.repository, String(failAt), ...given.action];
  return spawnSync(process.execPath, words, { encoding: 'utf8' }).signal === 'SIGKILL';
}

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

import type { CompiledProgram } from './compile-for-child.ts';
import type { Stage } from './crash-stage.ts';
import { copyToDirectory } from './memory-copy.ts';

export interface OperationChildOptions {
  readonly stage: Stage;
  /** Where the stage's repository is put first; it must not exist. */
  readonly repository: string;
  /** The operation of the backend at which the child is killed; 0: it lives. */
  readonly failAt: number;
  /** The name of the action and its arguments, as operation-child.ts takes them. */
  readonly action: readonly string[];
}

export interface OperationChildEnding {
  readonly isKilled: boolean;
  /** Of the backend; 0 when the child did not live to say it. */
  readonly operationCount: number;
}

/** Runs an operation on a copy of a stage's repository, in a process that dies in the middle of it. */
export function runOperationChild(child: CompiledProgram, options: OperationChildOptions): OperationChildEnding {
  mkdirSync(options.repository);
  copyToDirectory(options.stage.backend, options.repository);
  const words = [child.path, options.repository, String(options.failAt), ...options.action];
  const { signal, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const [, count = '0'] = /^survived (\d+)\n$/.exec(stdout) ?? [];
  return { isKilled: signal === 'SIGKILL', operationCount: Number(count) };
}

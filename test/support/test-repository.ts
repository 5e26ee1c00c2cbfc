import { lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type { ChunkerParameters } from '../../src/core/chunking/chunker.ts';
import { exitCodeOfRestore } from '../../src/verbs/restore/report.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { BackupOptions } from '../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../src/core/saving/backup-result.ts';
import { check } from '../../src/verbs/check/check.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import type { RestoreOptions, RestoreResult } from '../../src/verbs/restore/restore.ts';
import { diffTrees } from './compare-trees.ts';
import { memoryDirectory } from './temp-directory.ts';
import { encryption } from './test-password.ts';
import { threadsOfTests } from './test-threads.ts';

/** The result of a restore, and how the command would end. */
export interface RestoreOutcome extends RestoreResult {
  readonly exitCode: number;
}

/** A new repository with an empty directory `source` beside it, used through the library. */
export interface TestRepository {
  readonly directory: string;
  readonly source: string;
  readonly context: OperationContext & { readonly backend: LocalBackend };
  /** Everything that the operations said so far. */
  readonly notices: Notice[];
  /** Backs up `source`, unless other sources are named. Relative ones start at `directory`. `changes`: of the context. */
  readonly backup: (options?: Partial<BackupOptions>, changes?: Partial<OperationContext>) => Promise<BackupResult>;
  /** Restores the newest snapshot to a new directory, unless other things are named. */
  readonly restore: (options?: Partial<RestoreOptions>, changes?: Partial<OperationContext>) => Promise<RestoreOutcome>;
  /** Fails unless the repository is whole, every byte read. */
  readonly expectClean: () => Promise<void>;
  /** Fails unless a restore of `selector` gives `source` back as it is, metadata included. */
  readonly expectRestored: (selector?: string) => Promise<void>;
}

/** Chunks so small that a few kilobytes are many of them. */
export const TINY_CHUNKS: ChunkerParameters = {
  kind: 'fastcdc',
  minSizeBytes: 512,
  averageSizeBytes: 2048,
  maxSizeBytes: 8192,
};

/** Every opening reads the whole filter. */
const SMALL_CAPACITY = 256;

export async function makeTestRepository(
  options: InitOptions = {},
  directory: string = memoryDirectory(),
  openPlace?: OperationContext['openPlace'],
): Promise<TestRepository> {
  const source = join(directory, 'source');
  mkdirSync(source);
  const notices: Notice[] = [];
  const backend = new LocalBackend(join(directory, 'repository'));
  const onNotice = (notice: Notice): void => void notices.push(notice);
  const places = openPlace === undefined ? {} : { openPlace };
  const context = { backend, onNotice, threads: threadsOfTests(), ...places, ...encryption };
  await initRepository(context, { capacity: SMALL_CAPACITY, ...options });
  let targetCount = 0;
  const restoreNewest: TestRepository['restore'] = async (given = {}, changes = {}) => {
    targetCount += 1;
    const target = join(directory, `target-${targetCount}`);
    const result = await restore({ ...context, ...changes }, { selector: 'latest', target, ...given });
    return { ...result, exitCode: exitCodeOfRestore(result) };
  };
  return {
    directory,
    source,
    context,
    notices,
    backup: async (given = {}, changes = {}) =>
      await backup({ ...context, ...changes }, { sources: [source], cwd: directory, ...given }),
    restore: restoreNewest,
    expectClean: async () => expect((await check(context, { readData: true })).findings).toEqual([]),
    expectRestored: async (selector = 'latest') => {
      const { target, problems } = await restoreNewest({ selector });
      expect(problems).toEqual([]);
      expect(diffTrees(source, join(target, 'source'))).toEqual([]);
    },
  };
}

/** What the program takes for the coarsest clock tick of a file system. */
const CLOCK_TICK_MS = 50;

/**
 * Waits until a change of these files would show in their times: what changed within a tick of the file system's clock
 * before a backup is read again by the next one.
 */
export async function letSettle(...paths: readonly string[]): Promise<void> {
  const newestMs = Math.max(...paths.map((path) => lstatSync(path).ctimeMs));
  while (Date.now() <= newestMs + CLOCK_TICK_MS) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The names of all files below a directory of a repository, such as 'packs'. */
export function filesOf(repository: TestRepository, name: string): string[] {
  const directory = join(repository.directory, 'repository', name);
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

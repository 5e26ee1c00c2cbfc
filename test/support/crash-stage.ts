import { appendFileSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { backup } from '../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../src/core/saving/backup-result.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import { describeTree } from './compare-trees.ts';
import { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import { simulatedProcess } from './simulated-process.ts';

export type TreeDescription = ReadonlyMap<string, string>;

/** A repository with a past, and what is known about it. */
export interface Stage {
  readonly backend: MemoryBackend;
  /** The directory that is backed up. */
  readonly work: string;
  /** What is in it now, which is in no snapshot yet. */
  readonly workTree: TreeDescription;
  /** The trees of every snapshot that was ever made, by id. */
  readonly trees: ReadonlyMap<string, TreeDescription>;
  /** Ids of the snapshots, oldest first; where some are deleted they are in `deletedIds` too. */
  readonly snapshotIds: readonly string[];
  readonly deletedIds: readonly string[];
}

/** An operation that is interrupted, and what the repository is like before it. */
export interface Act {
  readonly name: string;
  readonly deletedCount: number;
  readonly snapshotCount: number;
  run(context: OperationContext, stage: Stage): Promise<unknown>;
  /** Snapshots that the act takes away, or brings back. */
  changedIds(stage: Stage): readonly string[];
}

/** Many chunks in a small file, and a small filter image. */
export const SMALL_INIT: InitOptions = {
  chunker: { kind: 'fastcdc', minSizeBytes: 256, averageSizeBytes: 1024, maxSizeBytes: 4096 },
  capacity: 64,
};

const SNAPSHOT_COUNT = 3;

export const FIRST_BACKUP: Act = {
  name: 'first backup',
  deletedCount: 0,
  snapshotCount: 0,
  run: async (context, stage) => backupWork(context, stage.work),
  changedIds: () => [],
};

export const BACKUP: Act = {
  name: 'backup',
  deletedCount: 0,
  snapshotCount: SNAPSHOT_COUNT,
  run: async (context, stage) => backupWork(context, stage.work),
  changedIds: () => [],
};

/** Two of three, with reclaim: some packs are dead as a whole, some in part. */
export const DELETE: Act = {
  name: 'delete',
  deletedCount: 0,
  snapshotCount: SNAPSHOT_COUNT,
  run: async (context, stage) => deleteSnapshots(context, { selectors: stage.snapshotIds.slice(0, 2) }),
  changedIds: (stage) => stage.snapshotIds.slice(0, 2),
};

/** The same, without what a compaction makes durable besides. */
export const DELETE_ONLY: Act = {
  ...DELETE,
  name: 'delete without reclaim',
  run: async (context, stage) => deleteSnapshots(context, { selectors: stage.snapshotIds.slice(0, 2), reclaim: false }),
};

/** With packs that are dead in part, and none of that may stay. */
export const COMPACT: Act = {
  name: 'compact',
  deletedCount: 2,
  snapshotCount: SNAPSHOT_COUNT,
  run: async (context) => compact(context, { maxUnusedPercent: 0 }),
  changedIds: () => [],
};

export const UNDELETE: Act = {
  name: 'undelete',
  deletedCount: 2,
  snapshotCount: SNAPSHOT_COUNT,
  run: async (context, stage) => undeleteSnapshots(context, { selectors: stage.deletedIds }),
  changedIds: (stage) => stage.deletedIds,
};

export const ACTS: readonly Act[] = [FIRST_BACKUP, BACKUP, DELETE, COMPACT, UNDELETE];

/** Makes the repository that an act starts from. */
export async function setStage(directory: string, act: Act): Promise<Stage> {
  const backend = new MemoryBackend();
  const work = join(directory, 'work');
  makeWork(work);
  await initRepository(simulatedProcess(backend), SMALL_INIT);
  const trees = new Map<string, TreeDescription>();
  for (let version = 0; version < act.snapshotCount; version += 1) {
    const { snapshotId } = await backupWork(simulatedProcess(backend), work);
    trees.set(snapshotId ?? '', describeTree(work));
    changeWork(work, version);
  }
  const snapshotIds = [...trees.keys()];
  const deletedIds = snapshotIds.slice(0, act.deletedCount);
  if (deletedIds.length > 0) {
    await deleteSnapshots(simulatedProcess(backend), { selectors: deletedIds, reclaim: false });
  }
  return { backend, work, workTree: describeTree(work), trees, snapshotIds, deletedIds };
}

export async function backupWork(context: OperationContext, work: string): Promise<BackupResult> {
  return await backup(context, { sources: [work], cwd: '/', hostname: 'stage' });
}

/** Files of one chunk and of many, and one of every other kind that a directory holds. */
function makeWork(work: string): void {
  const prng = createPrng(1);
  mkdirSync(join(work, 'sub', 'deep'), { recursive: true });
  writeFileSync(join(work, 'kept'), prng.bytes(4000));
  writeFileSync(join(work, 'sub', 'edited'), prng.bytes(9000));
  writeFileSync(join(work, 'sub', 'deep', 'small'), 'small\n');
  writeFileSync(join(work, 'empty'), '');
  linkSync(join(work, 'kept'), join(work, 'sub', 'hard'));
  symlinkSync('nowhere', join(work, 'soft'));
}

/** Each version shares chunks with the one before, in packs that it makes dead in part. */
function changeWork(work: string, version: number): void {
  const prng = createPrng(100 + version);
  appendFileSync(join(work, 'kept'), prng.bytes(1000));
  writeFileSync(join(work, 'sub', 'edited'), Buffer.concat([createPrng(1).bytes(2000), prng.bytes(4000)]));
  writeFileSync(join(work, 'sub', 'deep', `version-${version}`), `version ${version}\n`);
}

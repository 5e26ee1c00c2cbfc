import { collectStats } from '../../../index.ts';
import type { StatsAnswer } from '../../api/stats.ts';
import type { CurrentRepository } from '../current-repository.ts';

/** Describes what is stored, as `ldm stats` does. */
export async function answerStats(repository: CurrentRepository, signal: AbortSignal): Promise<StatsAnswer> {
  const stats = await repository.run(async (context) => collectStats({ ...context, signal }));
  return {
    snapshotCount: stats.snapshotsCount,
    logicalBytes: stats.logicalBytes,
    uniqueBytes: stats.uniqueBytes,
    treeBytes: stats.treeBytes,
    storedBytes: stats.storedBytes,
    dedupRatio: stats.dedupRatio,
    compressionRatio: stats.compressionRatio,
  };
}

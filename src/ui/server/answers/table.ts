import type { Answers } from '../../api.ts';
import type { CurrentRepository } from '../current-repository.ts';
import type { Answer } from '../ui-server.ts';
import { answerOverview, answerRuns } from './overview.ts';
import { answerRetention } from './retention.ts';
import { answerSearch } from './search.ts';
import { answerFreed, answerSnapshots } from './snapshots.ts';
import { answerGrowth, answerSpace, answerStats } from './space.ts';
import { answerStorage } from './storage.ts';

/** The answers to all questions but `repository`, by their names in `Answers`. */
export function answersOf(repository: CurrentRepository): Omit<Record<keyof Answers, Answer>, 'repository'> {
  return {
    snapshots: async () => answerSnapshots(repository),
    overview: async (parameters, signal) => answerOverview(repository, parameters, signal),
    storage: async (_parameters, signal) => answerStorage(repository, signal),
    runs: answerRuns,
    search: async (parameters, signal) => answerSearch(repository, parameters, signal),
    retention: async (parameters, signal) => answerRetention(repository, parameters, signal),
    freed: async (parameters) => answerFreed(repository, parameters),
    space: async (parameters, signal) => answerSpace(repository, parameters, signal),
    growth: async (_parameters, signal) => answerGrowth(repository, signal),
    stats: async (_parameters, signal) => answerStats(repository, signal),
  };
}

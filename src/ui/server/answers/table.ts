import type { Answers } from '../../api.ts';
import type { CurrentRepository } from '../current-repository.ts';
import type { Download } from '../downloads.ts';
import type { Tickets } from '../tickets.ts';
import type { Answer } from '../ui-server.ts';
import { answerDifference } from './difference.ts';
import { answerDirectory, answerTimeline, answerTree } from './browse.ts';
import { answerFreed, answerSnapshots } from './snapshots.ts';
import { answerGrowth, answerSpace, answerStats } from './space.ts';
import { answerOverview, answerRuns } from './overview.ts';
import { answerPreview } from './preview.ts';
import { answerRetention } from './retention.ts';
import { answerSearch } from './search.ts';
import { answerStorage } from './storage.ts';
import { answerTicket } from './ticket.ts';
import { answerVersions } from './versions.ts';

/** The answers to all questions but `repository`, by their names in `Answers`. */
export function answersOf(
  repository: CurrentRepository,
  downloads: Tickets<Download>,
): Omit<Record<keyof Answers, Answer>, 'repository'> {
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
    timeline: async (parameters) => answerTimeline(repository, parameters),
    tree: async (parameters, signal) => answerTree(repository, parameters, signal),
    directory: async (parameters) => answerDirectory(repository, parameters),
    versions: async (parameters, signal) => answerVersions(repository, parameters, signal),
    preview: async (parameters) => answerPreview(repository, parameters),
    difference: async (parameters) => answerDifference(repository, parameters),
    ticket: async (parameters) => answerTicket(repository, downloads, parameters),
  };
}

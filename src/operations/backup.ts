import { hostname as systemHostname } from 'node:os';
import { UsageError } from '../errors.ts';
import { openOwnerNames } from '../files/owner-names.ts';
import { encodeSnapshot } from '../format/snapshot.ts';
import type { Snapshot, SnapshotSummary } from '../format/snapshot.ts';
import { assertCondemnationsReadable } from '../repository/condemned.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { BackupTally } from './backup/backup-tally.ts';
import type { ReusedChunks } from './backup/backup-tally.ts';
import { EntryListing } from './backup/entry-listing.ts';
import type { BackupEntry } from './backup/entry-listing.ts';
import { Exclusion } from './backup/exclusion.ts';
import { FileSaver } from './backup/file-saver.ts';
import { FileStore } from './backup/file-store.ts';
import { manifestsWithoutCopy } from './backup/manifest-copies.ts';
import { OwnRepository } from './backup/own-repository.ts';
import type { SkippedRepository } from './backup/own-repository.ts';
import { findParent } from './backup/parent-snapshot.ts';
import type { ParentSnapshot } from './backup/parent-snapshot.ts';
import { ProblemReport, assertAnythingRead, warnOfSources, damageWarner, warnOfDamage } from './backup/problems.ts';
import type { SourceProblem } from './backup/problems.ts';
import { ReadAhead } from './backup/read-ahead.ts';
import { RemovedEntries } from './backup/removed-entries.ts';
import type { RemovedCounts } from './backup/removed-entries.ts';
import { RepositoryChunkSaver } from './backup/repository-chunk-saver.ts';
import { planSources } from './backup/source-plan.ts';
import type { SourcePlan } from './backup/source-plan.ts';
import { describeSnapshot, summarize } from './backup/snapshot-manifest.ts';
import { announceTotals } from './backup/source-scan.ts';
import { ParentTrees } from './backup/parent-tree.ts';
import { TreeBuilder } from './backup/tree-builder.ts';
import { TreeSaver } from './backup/tree-saver.ts';
import { chunkerOf } from './chunker-of.ts';
import { refreshCheckpoint } from './checkpointing.ts';
import { commitSnapshots } from './commit-snapshots.ts';
import { Pacer, beginPhase, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import type { PathInput } from '../util/byte-string.ts';

export type { BackupEntry } from './backup/entry-listing.ts';
export type { SkippedRepository } from './backup/own-repository.ts';
export type { SourceProblem } from './backup/problems.ts';

export interface BackupOptions {
  /** Paths and glob patterns. */
  readonly sources: readonly PathInput[];
  /** The directory that relative paths start from. */
  readonly cwd: PathInput;
  readonly hostname?: string;
  readonly tags?: readonly string[];
  /** Reads every file, even one that looks unchanged. */
  readonly force?: boolean;
  /** Stores nothing. */
  readonly dryRun?: boolean;
  /** The time of the snapshot in RFC 3339. Default: now. */
  readonly time?: string;
  /** Patterns as in restic: `*.log`, `cache/tmp`, `/abs/path`, `!exception`. */
  readonly exclude?: readonly string[];
  /** Called for each entry below the sources: for a directory after its contents, for what is excluded a little early. */
  readonly onEntry?: (entry: BackupEntry) => void;
}

export interface BackupResult {
  /** Undefined for a dry run. */
  readonly snapshotId: string | undefined;
  readonly snapshot: Snapshot;
  readonly parentId: string | undefined;
  readonly isEncrypted: boolean;
  readonly summary: SnapshotSummary;
  /** Undefined if some directories of the parent snapshot could not be read. */
  readonly removed: RemovedCounts | undefined;
  readonly reused: ReusedChunks;
  /** Sockets, which a restore leaves out. */
  readonly socketCount: number;
  /** Sources that are missing from the snapshot or incomplete in it. */
  readonly problems: readonly SourceProblem[];
  /** The exclude patterns that matched nothing. */
  readonly excludesUnmatched: readonly string[];
  /** Directories that were left out because they hold this repository. */
  readonly skippedRepositories: readonly SkippedRepository[];
}

/** Backs up the sources as one snapshot. Throws if the repository cannot be written; nothing is committed then. */
export async function backup(context: OperationContext, options: BackupOptions): Promise<BackupResult> {
  const startedAt = new Date();
  const time = parseTime(options.time, startedAt);
  const problems: SourceProblem[] = [];
  const onProblem = (problem: SourceProblem): void => {
    problems.push(problem);
    if (context.progress !== undefined) context.progress.errorCount += 1;
    context.onNotice?.({ kind: 'source-problem', ...problem });
  };
  const plan = await planSources(options.sources, options.cwd, onProblem);
  const exclusion = new Exclusion(options.exclude ?? [], plan.base);
  return await withRepository(context, 'add', async (repository) => {
    beginPhase(context.progress, 'opening');
    const opened = await repository.openState();
    assertCondemnationsReadable(opened.listing.condemned);
    warnOfDamage(context, opened);
    beginPhase(context.progress, 'backing up');
    const { repositoryId } = repository.config;
    const ownRepository = new OwnRepository({ repositoryId, place: repository.localDirectory, base: plan.base });
    const given = { context, options, repository, opened, plan, exclusion, ownRepository, problems, onProblem };
    const { tree, tally, chunks, parent, removed } = await new BackupRun(given).store(startedAt.getTime());
    warnOfSources(context, tally, ownRepository.skipped);
    const summary = summarize(tally, chunks.counts, startedAt, problems.length);
    const { hostname = systemHostname(), tags = [] } = options;
    const snapshot = describeSnapshot({ hostname, tags, plan, tree, time, summary, parentId: parent?.id });
    const counts = { removed, reused: chunks.reused, socketCount: tally.socketCount };
    const found = { excludesUnmatched: exclusion.unmatched(), skippedRepositories: ownRepository.skipped };
    const isEncrypted = repository.config.encryption !== undefined;
    const result = { snapshot, isEncrypted, summary, parentId: parent?.id, problems, ...counts, ...found };
    if (options.dryRun === true) return { ...result, snapshotId: undefined };
    const [committed] = await commitSnapshots(
      given,
      chunks,
      [() => encodeSnapshot(snapshot)],
      manifestsWithoutCopy(opened),
    );
    await refreshCheckpoint(given, chunks);
    return { ...result, snapshotId: committed!.id };
  });
}

interface BackupRunOptions {
  readonly context: OperationContext;
  readonly options: BackupOptions;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly plan: SourcePlan;
  readonly exclusion: Exclusion;
  readonly ownRepository: OwnRepository;
  readonly problems: readonly SourceProblem[];
  readonly onProblem: (problem: SourceProblem) => void;
}

interface StoredSources {
  readonly tree: Uint8Array;
  readonly tally: BackupTally;
  readonly chunks: RepositoryChunkSaver;
  readonly parent: ParentSnapshot | undefined;
  readonly removed: RemovedCounts | undefined;
}

/** One pass over the sources, from the first name to durable segments. */
class BackupRun {
  readonly #given: BackupRunOptions;

  constructor(given: BackupRunOptions) {
    this.#given = given;
  }

  /** Throws SourceError if nothing could be read. */
  async store(nowMs: number): Promise<StoredSources> {
    const { context, options, repository, opened, plan, exclusion, ownRepository, problems, onProblem } = this.#given;
    const { hasher, threads } = repository;
    const chunks = new RepositoryChunkSaver(repository, opened.state, {
      writes: options.dryRun !== true,
      condemnedPackIds: opened.listing.condemned.packIds,
      progress: context.progress,
    });
    const tally = new BackupTally(context.progress);
    const pacer = new Pacer(context);
    const chunker = chunkerOf(repository);
    const ahead = new ReadAhead({ threads, hasher, chunkBytesMin: chunker.minSizeBytes });
    const saver = new FileSaver({ chunker, ahead, hasher, threads, chunks, pacer, tally });
    const parentTrees = new ParentTrees(opened.reader, damageWarner(context, chunks));
    const hostname = options.hostname ?? systemHostname();
    const parent = await findParent(repository, opened, { hostname, plan, trees: parentTrees, nowMs });
    const removed = new RemovedEntries(parentTrees, pacer);
    const services = {
      parentTrees,
      files: new FileStore(saver, chunks, options.force === true ? undefined : parent?.startMs),
      ahead,
      owners: openOwnerNames(),
      trees: new TreeSaver(hasher, chunks, removed),
      exclusion,
      ownRepository,
      tally,
      pacer,
      problems: new ProblemReport(plan.base, onProblem),
      listing: options.onEntry === undefined ? undefined : new EntryListing(plan.base, options.onEntry),
    };
    const scan = announceTotals(context.progress, parent, {
      plan,
      excluded: options.exclude ?? [],
      repositoryPlace: repository.localDirectory,
    });
    try {
      const tree = await new TreeBuilder(plan, services).run(parent);
      assertAnythingRead(tally, problems);
      await chunks.finish();
      return { tree, tally, chunks, parent, removed: parentTrees.isAnyUnreadable ? undefined : removed };
    } catch (error) {
      // An error during the cleanup must not hide the original error.
      await chunks.abandon().catch(() => undefined);
      throw error;
    } finally {
      scan?.stop();
    }
  }
}

function parseTime(text: string | undefined, now: Date): string {
  if (text === undefined) return now.toISOString();
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) {
    throw new UsageError(`"${text}" is not a time`, { hint: 'Give a time such as 2026-11-20T10:00:00Z.' });
  }
  return time.toISOString();
}

import type { Chunker } from '../../core/chunking/chunker.ts';
import { hostname as systemHostname } from 'node:os';
import { CAPABILITY, hasCapability } from '../../core/files/native/capabilities.ts';
import { openOwnerNames } from '../../core/files/native/owner-names.ts';
import type { SnapshotMarks } from '../../core/format/snapshot-marks.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { chunkerOf } from '../../core/saving/chunker-of.ts';
import { ChangingFiles } from '../../core/saving/changing-files.ts';
import { splitterFor } from '../../core/saving/chunk-splitter.ts';
import { Pacer } from '../../core/util/pacer.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { AttributeSource } from '../../core/sources/attribute-source.ts';
import { beginPhase } from '../../core/session/progress.ts';
import { BackupTally } from '../../core/saving/backup-tally.ts';
import type { BackupOptions } from './backup-options.ts';
import { Continuation } from './continuation.ts';
import type { Recording } from './continuation.ts';
import { ContentSaver } from '../../core/saving/content-saver.ts';
import { EntryListing } from '../../core/saving/entry-listing.ts';
import type { Exclusion } from '../../core/sources/exclusion.ts';
import { FileSaver } from './file-saver.ts';
import { FileStore, ignoredChanges } from './file-store.ts';
import type { OwnRepository } from '../../core/sources/own-repository.ts';
import { findPredecessors } from '../../core/sources/parent-snapshot.ts';
import type { ParentSnapshot, Predecessors } from '../../core/sources/parent-snapshot.ts';
import { ParentEntries } from '../../core/sources/parent-entries.ts';
import { ParentTrees } from '../../core/sources/parent-tree.ts';
import { offlinePackIds } from '../../core/saving/relied-packs.ts';
import { assertAnythingRead, damageWarner } from '../../core/saving/problems.ts';
import { ProblemReport } from '../../core/sources/problem-report.ts';
import type { SourceProblem } from '../../core/session/notices.ts';
import { ReadAhead } from './read-ahead.ts';
import { MovedFiles } from '../../core/saving/moved-files.ts';
import type { ChunkLender } from '../../core/session/extension.ts';
import { RemovedEntries } from '../../core/saving/removed-entries.ts';
import type { RemovedCounts } from '../../core/saving/removed-entries.ts';
import { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import type { ReusedSample } from '../../core/saving/reused-sample.ts';
import { storeStream } from '../../core/saving/stream-tree.ts';
import type { WalkServices } from './walk-services.ts';
import { describeSnapshot, summarize } from '../../core/saving/snapshot-manifest.ts';
import type { SourcePlan } from '../../core/sources/source-plan.ts';
import { announceTotals } from './source-scan.ts';
import { TreeBuilder } from './tree-builder.ts';
import { sureSaver } from '../../core/saving/sure-chunk-saver.ts';
import { TreeSaver } from '../../core/saving/tree-saver.ts';

export interface BackupRunOptions {
  readonly context: OperationContext;
  readonly options: BackupOptions;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly startedAt: Date;
  /** The time of the snapshot in RFC 3339. */
  readonly time: string;
  readonly marks: SnapshotMarks;
  readonly plan: SourcePlan;
  readonly exclusion: Exclusion;
  readonly ownRepository: OwnRepository;
  readonly problems: readonly SourceProblem[];
  readonly onProblem: (problem: SourceProblem) => void;
  readonly lender: ChunkLender | undefined;
  /** Packs on which the snapshot must not rely. */
  readonly unreliable: ReadonlySet<string>;
  /** Some of the chunks that are reused, to be verified later. */
  readonly sample?: ReusedSample | undefined;
}

export interface StoredSources extends Predecessors {
  readonly snapshot: Snapshot;
  readonly tally: BackupTally;
  readonly chunks: RepositoryChunkSaver;
  readonly removed: RemovedCounts | undefined;
  readonly filesMoved: number | undefined;
  readonly continuation: Continuation;
  readonly attributes: AttributeSource;
}

/** One pass over the sources, from the first name to durable packs and segments; the last of them may be under way. */
export class BackupRun {
  readonly #given: BackupRunOptions;

  constructor(given: BackupRunOptions) {
    this.#given = given;
  }

  /** Throws SourceError if nothing could be read. */
  async store(): Promise<StoredSources> {
    const { context, options, repository, opened, plan, exclusion, ownRepository, problems, onProblem } = this.#given;
    const { startedAt } = this.#given;
    const { hasher, threads, work } = repository;
    const chunks = this.#chunkSaver();
    const sure = options.stream === undefined ? chunks : sureSaver(chunks, opened);
    const tally = new BackupTally(context.progress);
    const pacer = new Pacer(context);
    const chunker = chunkerOf(repository);
    const filesAtOnce = options.readConcurrency;
    const chunkBytesMin = chunker.minSizeBytes;
    const ahead = new ReadAhead({ threads, hasher, chunkBytesMin, filesAtOnce, atOnce: work.atOnce });
    const splitter = splitterFor(repository, sure, opened.state);
    const content = new ContentSaver({ chunker, hasher, chunks: sure, pacer, tally, splitter });
    const saver = new FileSaver({ ahead, threads, content });
    const parentTrees = new ParentTrees(opened.reader, damageWarner(context, chunks));
    const hostname = options.hostname ?? systemHostname();
    const before = { hostname, plan, trees: parentTrees, nowMs: startedAt.getTime() };
    const { parent, newest } = await findPredecessors(repository, opened, before);
    chunks.packs.relyOn(parent?.usedIds ?? []);
    const moved = new MovedFiles();
    const removed = new RemovedEntries(parentTrees, pacer, moved);
    if (parent !== undefined) tally.moved = moved;
    const owners = openOwnerNames();
    const sourceProblems = new ProblemReport(plan.base, onProblem);
    const compared = options.force === true ? undefined : parent;
    const ignored = ignoredChanges(options);
    const visibility = { seesAll: hasCapability(CAPABILITY.sysAdmin), ignoresCtime: ignored.ctime };
    const attributes = new AttributeSource(sourceProblems, visibility, compared);
    const describe = (tree: Uint8Array): Snapshot =>
      this.#describe(tree, { hostname, tally, chunks, parent, attributes });
    const continuation = await this.#continuation(hostname, { chunks, owners, describe });
    const services = {
      parentTrees,
      files: new FileStore(saver, chunks, compared?.startMs, ignored),
      changing: this.#changing(chunker, parent?.earlier),
      ahead,
      owners,
      recorded: { withAccessTime: options.withAtime === true },
      attributes,
      continuation,
      trees: new TreeSaver(hasher, sure, removed),
      exclusion,
      ownRepository,
      tally,
      pacer,
      problems: sourceProblems,
      listing: options.onEntry === undefined ? undefined : new EntryListing(plan.base, options.onEntry),
    };
    const scan = this.#announceTotals(parent);
    try {
      const tree = await this.#storeTree(services, content, parent);
      assertAnythingRead(tally, problems);
      await chunks.finish(!this.#isCommittedNext(chunks));
      const isKnown = !parentTrees.isAnyUnreadable;
      const counts = { tally, removed: isKnown ? removed : undefined, filesMoved: isKnown ? moved.count() : undefined };
      return { snapshot: describe(tree), chunks, parent, newest, continuation, attributes, ...counts };
    } catch (error) {
      // An error during the cleanup must not hide the original error.
      await chunks.abandon().catch(() => undefined);
      throw error;
    } finally {
      await scan?.stop();
    }
  }

  #chunkSaver(): RepositoryChunkSaver {
    const { context, options, repository, opened, lender, sample } = this.#given;
    return new RepositoryChunkSaver(repository, opened.state, {
      writes: options.dryRun !== true,
      condemnedPackIds: this.#given.unreliable,
      offlinePackIds: offlinePackIds(opened),
      progress: context.progress,
      lender,
      sample,
    });
  }

  #changing(chunker: Chunker, earlier: Snapshot | undefined): ChangingFiles {
    const { options, opened, plan } = this.#given;
    const { smallChunks = 'auto' } = options;
    // Damage there matters to nothing else.
    const trees = new ParentTrees(opened.reader, () => undefined);
    const entries = earlier && new ParentEntries(earlier, trees);
    return new ChangingFiles({ smallChunks, chunker, state: opened.state, earlier: entries, base: plan.base });
  }

  /**
   * Whether nothing else is done before the commit, which waits for the last segment. That saves a wait for another machine,
   * but `ldm serve` commits in one wait only what is indexed.
   */
  #isCommittedNext({ borrowedPacks }: RepositoryChunkSaver): boolean {
    const { repository, options, context } = this.#given;
    if (!repository.order.isFar || context.backend.isOwnServer === true) return false;
    return options.verifyReused === undefined && options.reliesOn === undefined && borrowedPacks.length === 0;
  }

  async #storeTree(
    services: WalkServices,
    content: ContentSaver,
    parent: ParentSnapshot | undefined,
  ): Promise<Uint8Array> {
    const { context, options, plan, time } = this.#given;
    beginPhase(context.progress, 'backing up');
    const keepsUnchanged = options.skipIfUnchanged === true;
    const tree =
      options.stream === undefined
        ? await new TreeBuilder(plan, services).run(parent)
        : await storeStream(options.stream, plan, parent, { ...services, context, content, time, keepsUnchanged });
    beginPhase(context.progress, 'finishing');
    return tree;
  }

  #announceTotals(parent: ParentSnapshot | undefined): ReturnType<typeof announceTotals> {
    const { context, options, plan, repository } = this.#given;
    if (options.stream !== undefined) return undefined;
    const repositoryPlace = context.backend.localDirectory;
    const scope = { plan, excluded: options, repositoryPlace };
    return announceTotals(context.progress, parent, scope, repository.threads);
  }

  async #continuation(hostname: string, recording: Omit<Recording, 'repository' | 'everyMs'>): Promise<Continuation> {
    const { repository, opened, options, plan } = this.#given;
    const continuation = await Continuation.find(repository, opened, {
      hostname,
      plan,
      readsAll: options.force === true,
    });
    if (options.dryRun !== true) continuation.begin({ ...recording, repository, everyMs: options.recordEveryMs });
    return continuation;
  }

  /** Makes the manifest of what is stored. */
  #describe(
    tree: Uint8Array,
    {
      hostname,
      tally,
      chunks,
      parent,
      attributes: { recorded: attributes },
    }: Pick<StoredSources, 'tally' | 'chunks' | 'parent' | 'attributes'> & { readonly hostname: string },
  ): Snapshot {
    const { options, plan, problems, time, marks, startedAt } = this.#given;
    const summary = summarize(tally, chunks.counts, startedAt, problems.length);
    const { tags = [] } = options;
    const parentId = parent?.id;
    return describeSnapshot({ hostname, tags, plan, tree, time, summary, parentId, attributes, marks });
  }
}

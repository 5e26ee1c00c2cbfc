import { assertArguments } from '../../core/session/arguments.ts';
import { hostname as systemHostname } from 'node:os';
import { ArchiveError } from '../../core/errors.ts';
import { openOwnerNames } from '../../core/files/native/owner-names.ts';
import { absolutePath } from '../../core/files/paths/root-paths.ts';
import { encodeSnapshot } from '../../core/format/snapshot.ts';
import type { ArchiveBytes } from '../../core/format/tar/archive-input.ts';
import { assertCondemnationsReadable } from '../../core/repository/condemned.ts';
import { decompressed } from '../../core/repository/compressed-archive.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { byteStringOf } from '../../core/util/byte-string.ts';
import { BackupTally } from '../../core/saving/backup-tally.ts';
import { splitterFor } from '../../core/saving/chunk-splitter.ts';
import { ContentSaver } from '../../core/saving/content-saver.ts';
import { manifestsWithoutCopy } from '../../core/saving/manifest-copies.ts';
import { lendersOf } from '../../core/saving/commit-snapshots.ts';
import { ParentTrees } from '../../core/sources/parent-tree.ts';
import { warnOfDamage, warnOfSources } from '../../core/saving/problems.ts';
import type { SourceProblem } from '../../core/session/notices.ts';
import { RemovedEntries } from '../../core/saving/removed-entries.ts';
import { offlinePackIds, unreliablePackIds } from '../../core/saving/relied-packs.ts';
import { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import { describeSnapshot, snapshotTime, summarize } from '../../core/saving/snapshot-manifest.ts';
import { sureSaver } from '../../core/saving/sure-chunk-saver.ts';
import { TreeSaver } from '../../core/saving/tree-saver.ts';
import type { BackupResult } from '../../core/saving/backup-result.ts';
import { refreshCheckpoint } from '../../core/saving/checkpointing.ts';
import { chunkerOf } from '../../core/saving/chunker-of.ts';
import { commitSnapshots } from '../../core/saving/commit-snapshots.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { ArchiveRun } from './archive-run.ts';
import { ImportTree } from './import-tree.ts';
import { componentsOf, findRoots } from './imported-roots.ts';
import type { ImportedRoots } from './imported-roots.ts';
import { ImportedTrees } from './imported-trees.ts';
import { untilAborted } from '../../core/files/source/until-aborted.ts';

export type { ArchiveBytes } from '../../core/format/tar/archive-input.ts';

export interface ImportTarOptions {
  /** The bytes of a tar archive, such as a stream, also compressed with gzip or zstd. */
  readonly archive: ArchiveBytes;
  /** Reads on after blocks of zeros, as for archives that were concatenated. */
  readonly ignoresZeros?: boolean;
  /** Accepts an archive without blocks of zeros at its end, or with other data after them. */
  readonly acceptsAnyEnd?: boolean;
  /** The directory that the names in the archive start from, also those with a leading slash. Absolute. Default: `/`. */
  readonly base?: PathInput;
  /** What the snapshot records as backed-up paths, absolute. Default: the outermost entries of the archive. */
  readonly paths?: readonly PathInput[];
  readonly hostname?: string;
  readonly tags?: readonly string[];
  /** The time of the snapshot in RFC 3339. Default: now. */
  readonly time?: string;
  /** Stores nothing. */
  readonly dryRun?: boolean;
}

/** As for a backup without a parent snapshot. The problems are the entries that are not in the snapshot as they were. */
export type ImportTarResult = BackupResult;

const ROOT = '/' as ByteString;

/**
 * Makes a snapshot of a tar archive, which is read once, from start to end. The memory depends on the number of its
 * entries and not on their sizes.
 * @throws ArchiveError if the archive is damaged or incomplete; no snapshot is made then
 * @throws UsageError if the archive does not have the paths
 */
export async function importTar(context: OperationContext, options: ImportTarOptions): Promise<ImportTarResult> {
  assertArguments<ImportTarOptions>(context, options, {
    archive: 'stream!',
    ignoresZeros: 'flag',
    acceptsAnyEnd: 'flag',
    base: 'path',
    paths: 'paths',
    hostname: 'text',
    tags: 'texts',
    time: 'time',
    dryRun: 'flag',
  });
  const startedAt = new Date();
  const time = snapshotTime(options.time, startedAt);
  const problems: SourceProblem[] = [];
  const onProblem = (problem: SourceProblem): void => {
    problems.push(problem);
    if (context.progress !== undefined) context.progress.errorCount += 1;
    context.onNotice?.({ kind: 'source-problem', ...problem });
  };
  return await withRepository(context, 'add', async (repository) => {
    beginPhase(context.progress, 'opening');
    const opened = await repository.openState();
    assertCondemnationsReadable(opened.listing.condemned);
    warnOfDamage(context, opened);
    beginPhase(context.progress, 'importing');
    const given = { context, options, repository, opened, onProblem, time };
    const { roots, tree, tally, chunks } = await storeArchive(given);
    warnOfSources(context, tally, []);
    const summary = summarize(tally, chunks.counts, startedAt, problems.length);
    const { hostname = systemHostname(), tags = [] } = options;
    const reliesOn = await lendersOf(repository, chunks);
    const marks = reliesOn.length === 0 ? {} : { reliesOn };
    const unknown = { parentId: undefined, attributes: undefined, marks };
    const snapshot = describeSnapshot({ hostname, tags, plan: roots, tree, time, summary, ...unknown });
    const isEncrypted = repository.config.encryption !== undefined;
    const unknownCounts = { verified: undefined, removed: undefined, filesMoved: undefined };
    const { reused, offlineBytes, borrowed } = chunks;
    const counts = { ...unknownCounts, borrowed, reused, offlineBytes, continued: undefined, socketCount: 0 };
    const isDryRun = options.dryRun === true;
    const result = { snapshot, isDryRun, isEncrypted, summary, parentId: undefined, problems, ...counts };
    const nothingFound = { attributesIncomplete: 0, excludesUnmatched: [], skippedRepositories: [] };
    if (isDryRun) return { ...result, ...nothingFound, snapshotId: undefined };
    const manifests = [() => encodeSnapshot(snapshot)];
    const [committed] = await commitSnapshots(given, chunks, manifests, manifestsWithoutCopy(opened));
    await refreshCheckpoint(given, chunks);
    return { ...result, ...nothingFound, snapshotId: committed!.id };
  });
}

interface StoreOptions {
  readonly context: OperationContext;
  readonly options: ImportTarOptions;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly onProblem: (problem: SourceProblem) => void;
  readonly time: string;
}

interface StoredArchive {
  readonly roots: ImportedRoots;
  readonly tree: Uint8Array;
  readonly tally: BackupTally;
  readonly chunks: RepositoryChunkSaver;
}

/** Stores all chunks and trees of the archive, durably. */
async function storeArchive({
  context,
  options,
  repository,
  opened,
  onProblem,
  time,
}: StoreOptions): Promise<StoredArchive> {
  const { hasher } = repository;
  const { progress } = context;
  const chunks = new RepositoryChunkSaver(repository, opened.state, {
    writes: options.dryRun !== true,
    condemnedPackIds: await unreliablePackIds(context, repository, opened),
    offlinePackIds: offlinePackIds(opened),
    progress,
  });
  const sure = sureSaver(chunks, opened);
  const pacer = new Pacer(context);
  const reading = new BackupTally(progress);
  const chunker = chunkerOf(repository);
  const splitter = splitterFor(repository, sure, opened.state);
  const content = new ContentSaver({ chunker, hasher, chunks: sure, pacer, tally: reading, splitter });
  const base = componentsOf(absolutePath(byteStringOf(options.base ?? ROOT), ROOT));
  const onFile = (): void => {
    if (progress !== undefined) progress.filesDone += 1;
  };
  const tree = new ImportTree();
  try {
    const run = new ArchiveRun({
      tree,
      content,
      tally: reading,
      pacer,
      base,
      owners: openOwnerNames(),
      onProblem,
      onFile,
    });
    const { ignoresZeros, acceptsAnyEnd } = options;
    const bytes = untilAborted(decompressed(options.archive), context.signal);
    await run.read(bytes, { ignoresZeros, acceptsAnyEnd });
    if (tree.isEmpty)
      throw new ArchiveError('the archive has no entries that can be imported, so no snapshot was made');
    const roots = findRoots(tree, options.paths);
    // Entries that replace each other are counted once, so not while they are read.
    const tally = new BackupTally(undefined);
    const trees = new TreeSaver(
      hasher,
      sure,
      new RemovedEntries(new ParentTrees(opened.reader, () => undefined), pacer),
    );
    const services = { tree, trees, tally, pacer, timeMs: Date.parse(time) };
    const treeId = await new ImportedTrees(services).save(roots.top);
    await chunks.finish();
    return { roots, tree: treeId, tally, chunks };
  } catch (error) {
    // An error during the cleanup must not hide the original error.
    await chunks.abandon().catch(() => undefined);
    throw error;
  }
}

import { assertArguments } from '../../core/session/arguments.ts';
import { CAPABILITY, hasCapability } from '../../core/files/native/capabilities.ts';
import { canReadAttributes } from '../../core/files/source/source-attributes.ts';
import type { RecordedAttributes } from '../../core/format/snapshot.ts';
import { hasSameXattrs } from '../../core/snapshots/entry-changes.ts';
import { SourceError, UsageError } from '../../core/errors.ts';
import { encodeTree, type TreeEntry } from '../../core/format/tree/tree.ts';
import type { ReadSnapshots, SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { byteStringFromText, byteStringOf, joinPath } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { SourceProblem } from '../../core/session/notices.ts';
import { EXCLUSION_KINDS, excludesNothing, type ExclusionOptions } from '../../core/sources/exclusion.ts';
import { ChunkComparison, type DiffChange, type DiffStatistics } from './diff-result.ts';
import { DiffRun } from './diff-run.ts';
import { snapshotSides, type DiffSides, type NamedPlace } from './diff-sides.ts';
import { LiveContent } from './live-content.ts';
import { liveSides } from './live-sides.ts';
import { selectNewestPair } from '../../core/snapshots/newest-pair.ts';
import { changeOf } from '../../core/snapshots/entry-changes.ts';
import type { EntryChange } from '../../core/snapshots/entry-changes.ts';
import {
  assertCountable,
  isSnapshotName,
  parseSelector,
  selectSnapshot,
} from '../../core/snapshots/select-snapshots.ts';
import { FILTER_KINDS, type SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export type { DiffChange, DiffCounts, DiffStatistics } from './diff-result.ts';

/** The options of `ExclusionOptions` say what is not compared of the files on this machine, with the meaning that they have for a backup. */
export interface DiffOptions extends ExclusionOptions {
  /** The old side: `ID[:path]`, `latest`, `latest~N`. Without it, and without `after`, the two newest snapshots of one host and its paths are compared. */
  readonly before?: PathInput | undefined;
  /**
   * The new side: another snapshot or a path in it, or a file or directory of this machine. What begins like a snapshot
   * (4 or more hex digits, `latest`) is one; put `./` in front of a directory with such a name. If only one side has a
   * path after its colon, it is that of the other one too. Default: the files on this machine that the snapshot was made of.
   */
  readonly after?: PathInput | undefined;
  readonly filter?: SnapshotFilter | undefined;
  /**
   * Reports changes of nothing but mode, owner, times and attributes too. Attributes of files on this machine are
   * compared if the snapshot has them.
   */
  readonly metadata?: boolean | undefined;
  /** Reads all files of this machine, also those with the same size and modification time. */
  readonly checksum?: boolean | undefined;
}

export interface DiffResult {
  readonly before: SnapshotListing;
  /** Undefined if the new side is on this machine. */
  readonly after: SnapshotListing | undefined;
  /** In the order of their paths. */
  readonly changes: readonly DiffChange[];
  readonly statistics: DiffStatistics;
  /** Patterns that matched nothing. */
  readonly excludesUnmatched: readonly string[];
  /** Set with `metadata` if attributes were not compared: the snapshot may lack them, or this machine cannot read them. */
  readonly attributesSkipped: boolean;
  /** Trees that could not be read; each was reported by a notice. What is below them was not compared. */
  readonly unreadableTrees: number;
  /** Files and directories of this machine that could not be read; each was reported by a notice. */
  readonly unreadableSources: number;
}

/**
 * Compares two snapshots, or a snapshot with files on this machine. Directories that are the same in both snapshots are
 * not read.
 */
export async function diffSnapshots(context: OperationContext, options: DiffOptions): Promise<DiffResult> {
  const own = { before: 'path', after: 'path', filter: FILTER_KINDS, metadata: 'flag', checksum: 'flag' } as const;
  assertArguments<DiffOptions>(context, options, { ...own, ...EXCLUSION_KINDS });
  return await withRepository(context, 'read', async (repository) => {
    const found = await repository.files.readSnapshots();
    const opened = await repository.openState();
    beginPhase(context.progress, 'comparing');
    return await new DiffOperation({ context, options, repository, found, opened }).run();
  });
}

class DiffOperation {
  readonly #context: OperationContext;
  readonly #options: DiffOptions;
  readonly #repository: Repository;
  readonly #found: ReadSnapshots;
  readonly #opened: OpenedState;
  readonly #pacer: Pacer;
  #unreadableTrees = 0;
  #unreadableSources = 0;

  constructor(given: {
    readonly context: OperationContext;
    readonly options: DiffOptions;
    readonly repository: Repository;
    readonly found: ReadSnapshots;
    readonly opened: OpenedState;
  }) {
    this.#context = given.context;
    this.#options = given.options;
    this.#repository = given.repository;
    this.#found = given.found;
    this.#opened = given.opened;
    this.#pacer = new Pacer(given.context);
  }

  async run(): Promise<DiffResult> {
    const { metadata = false } = this.#options;
    const { left, right } = this.#named();
    if (right !== undefined && !excludesNothing(this.#options))
      throw new UsageError('only files on this machine can be excluded, not those of a second snapshot');
    const attributes = metadata && right === undefined ? liveAttributes(left.listing.snapshot.attributes) : undefined;
    const sides = await this.#sides(left, right, attributes);
    const chunks = right === undefined ? undefined : new ChunkComparison(this.#opened.state);
    const run = new DiffRun({
      pacer: this.#pacer,
      base: sides.base,
      metadata,
      emptyTreeId: this.#repository.hasher.treeId(encodeTree([])),
      ...this.#comparing(sides, attributes),
      excludes: sides.live?.excludes,
      onRead: chunks && ((side, ids, isTree) => chunks.add(side, ids, isTree)),
      onUnreadable: (side, path, error) => {
        const where = joinPath(sides.base, path);
        if (error instanceof SourceError) this.#reportSource(error.path ?? where, 'list', error.message);
        else this.#reportTree((side === 'before' ? left : (right ?? left)).listing, where, error);
      },
    });
    const changes = await run.run(sides.before, sides.after);
    chunks?.addTo(run.statistics);
    return {
      before: left.listing,
      after: right?.listing,
      changes,
      statistics: run.statistics,
      excludesUnmatched: sides.live?.unmatched() ?? [],
      attributesSkipped: metadata && right === undefined && attributes === undefined,
      unreadableTrees: this.#unreadableTrees,
      unreadableSources: this.#unreadableSources,
    };
  }

  #named(): { readonly left: NamedPlace; readonly right: NamedPlace | undefined } {
    const { before, after } = this.#options;
    if (before === undefined) {
      if (after !== undefined) throw new UsageError('there is no old side to compare with the new one');
      return this.#newestPair();
    }
    const isSnapshot = after !== undefined && isSnapshotName(parseSelector(after).name);
    return { left: this.#place(before), right: isSnapshot ? this.#place(after) : undefined };
  }

  #newestPair(): { readonly left: NamedPlace; readonly right: NamedPlace } {
    const { older, newer } = selectNewestPair(this.#context, this.#found, this.#options.filter);
    assertCountable(['latest'], this.#opened.damage.lostSnapshots);
    const path = '' as ByteString;
    return { left: { listing: older, path }, right: { listing: newer, path } };
  }

  #place(selector: PathInput): NamedPlace {
    const { name, path } = parseSelector(selector);
    const listing = selectSnapshot(this.#context, this.#found, name, { filter: this.#options.filter });
    assertCountable([name], this.#opened.damage.lostSnapshots);
    return { listing, path };
  }

  async #sides(
    left: NamedPlace,
    right: NamedPlace | undefined,
    attributes: LiveAttributes | undefined,
  ): Promise<DiffSides> {
    const { reader } = this.#opened;
    if (right !== undefined) return await snapshotSides(reader, left, right);
    const { after: target } = this.#options;
    const { directories } = this.#repository;
    return await liveSides(reader, left, target === undefined ? undefined : byteStringOf(target), {
      exclusion: this.#options,
      repositoryPaths: new Set(directories.map((directory) => byteStringFromText(directory))),
      incompleteAttributes: attributes?.incomplete,
      onProblem: (path, during, message) => this.#reportSource(path, during, message),
    });
  }

  #comparing(
    { live }: DiffSides,
    attributes: LiveAttributes | undefined,
  ): {
    readonly changeOf: (
      before: TreeEntry,
      after: TreeEntry,
      path: PathNode,
    ) => EntryChange | undefined | Promise<EntryChange | undefined>;
    readonly cut?: (path: PathNode) => Promise<Uint8Array | undefined>;
  } {
    if (live === undefined) return { changeOf };
    const content = new LiveContent(this.#repository, this.#opened.state, {
      pacer: this.#pacer,
      checksum: this.#options.checksum === true,
      hasSameAttributes: attributes?.hasSame,
      onProblem: (path, message) => this.#reportSource(path, 'read', message),
    });
    return {
      changeOf: (before, after, path) => content.changeOf(before, after, () => live.pathOf(path)),
      cut: async (path) => content.cut(live.pathOf(path)),
    };
  }

  #reportSource(path: ByteString, during: SourceProblem['during'], message: string): void {
    this.#unreadableSources += 1;
    this.#context.onNotice?.({ kind: 'source-problem', path, during, message });
  }

  #reportTree({ id: snapshotId }: SnapshotListing, path: ByteString, { message: reason }: Error): void {
    this.#unreadableTrees += 1;
    this.#context.onNotice?.({ kind: 'tree-unreadable', snapshotId, path, reason });
  }
}

/** Compares the attributes of files on this machine with those in a snapshot. */
interface LiveAttributes {
  /** Entries of which some attributes could not be read. They are not compared. */
  readonly incomplete: WeakSet<TreeEntry>;
  readonly hasSame: (before: TreeEntry, after: TreeEntry) => boolean;
}

/**
 * Returns undefined if attributes cannot be compared, because this machine cannot read them, or because the snapshot may
 * lack some. Those that only a privileged process sees are compared if the backup and this process are privileged.
 */
function liveAttributes(recorded: RecordedAttributes | undefined): LiveAttributes | undefined {
  if (recorded === undefined || !canReadAttributes()) return undefined;
  const seesAll = recorded === 'all' && hasCapability(CAPABILITY.sysAdmin);
  const incomplete = new WeakSet<TreeEntry>();
  return {
    incomplete,
    hasSame: (before, after) =>
      incomplete.has(after) ||
      (before.inodeFlags === after.inodeFlags &&
        hasSameXattrs(before, after, (name) => seesAll || !name.startsWith('trusted.'))),
  };
}

import { assertArguments } from '../../core/session/arguments.ts';
import { randomBytes } from 'node:crypto';
import { RefusedError, UsageError } from '../../core/errors.ts';
import { encodeSnapshot } from '../../core/format/snapshot.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { measureReplacedRelease } from '../../core/ldm/replaced-release.ts';
import { assertCondemnationsReadable } from '../../core/repository/condemned.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { ReadSnapshots, SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { localOffsetMinutes } from '../../core/util/calendar-span.ts';
import { manifestsWithoutCopy } from '../../core/saving/manifest-copies.ts';
import { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import { commitSnapshots, withLenders } from '../../core/saving/commit-snapshots.ts';
import { waitingContext } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { assertUnprotected } from '../../core/removing/protection.ts';
import type { FreedBytes } from '../../core/removing/remove-snapshots.ts';
import { deleteReplaced } from '../../core/saving/replace-snapshots.ts';
import { PATTERN_KINDS, checkRewritePatterns, selectionOf, textsOf } from './rewrite-selection.ts';
import type { RewritePatterns } from './rewrite-selection.ts';
import { TreeRewriter } from './tree-rewriter.ts';
import type { LeftOut } from './tree-rewriter.ts';
import {
  CHOICE_KINDS,
  assertCountable,
  describeListing,
  selectSnapshots,
} from '../../core/snapshots/select-snapshots.ts';
import type { SnapshotChoice } from '../../core/snapshots/select-snapshots.ts';

export interface RewriteOptions extends SnapshotChoice, RewritePatterns {
  readonly newHost?: string;
  /** RFC 3339. */
  readonly newTime?: string;
  /** Deletes the old snapshots. Their space is returned by the next compaction. */
  readonly forget?: boolean;
  /** Stores and deletes nothing. */
  readonly dryRun?: boolean;
}

export interface RewrittenSnapshot {
  readonly old: SnapshotListing;
  /** Undefined for a dry run. */
  readonly newId: string | undefined;
  readonly snapshot: Snapshot;
  readonly leftOut: Readonly<LeftOut>;
}

export interface RewriteResult {
  readonly rewritten: readonly RewrittenSnapshot[];
  /** Snapshots in which there is nothing to change. */
  readonly unchangedCount: number;
  readonly excludesUnmatched: readonly string[];
  readonly includesUnmatched: readonly string[];
  /** What is freed when the old snapshots are gone. */
  readonly freed: FreedBytes;
  readonly forgotten: boolean;
  readonly dryRun: boolean;
}

/** Makes snapshots again without some of their files, or with another host or time. The old ones stay by default. */
export async function rewriteSnapshots(context: OperationContext, options: RewriteOptions): Promise<RewriteResult> {
  assertArguments<RewriteOptions>(context, options, {
    ...CHOICE_KINDS,
    patterns: PATTERN_KINDS,
    include: PATTERN_KINDS,
    newHost: 'text',
    newTime: 'time',
    forget: 'flag',
    dryRun: 'flag',
  });
  const hasPatterns = checkRewritePatterns(options);
  if (!hasPatterns && options.newHost === undefined && options.newTime === undefined)
    throw new UsageError('nothing to change', { advice: { code: 'name-rewrite' } });
  const { forget: forgotten = false, dryRun = false } = options;
  beginPhase(context.progress, 'rewriting');
  // Two that replace the same snapshot would make two snapshots of it.
  const access = !forgotten ? 'add' : dryRun ? 'shared' : 'exclusive';
  return await withRepository(forgotten ? waitingContext(context) : context, access, async (repository) => {
    const found = await repository.files.readSnapshots({ isExact: forgotten });
    const selected = selectSnapshots(context, found, options);
    assertNoHold(selected);
    if (forgotten) assertUnprotected(selected);
    const opened = await repository.openState({ listsPacks: false });
    assertCountable(options.selectors, opened.damage.lostSnapshots);
    assertCondemnationsReadable(opened.listing.condemned);
    if (opened.needsCondemned) throw new RefusedError(INTERRUPTED, { advice: { code: 'repair-and-repeat' } });
    const run = new RewriteRun(context, repository, opened, options);
    if (forgotten) run.noteEarlier(found);
    for (const listing of selected) await run.rewrite(listing);
    const result = { ...(await run.finish()), unchangedCount: selected.length - run.count, forgotten, dryRun };
    if (forgotten && !dryRun && run.count > 0) {
      const oldIds = result.rewritten.flatMap(({ old: { id, superseded = [] } }) => [...superseded, id]);
      await deleteReplaced(context, repository, oldIds);
    }
    return result;
  });
}

/** A new snapshot must not rely on condemned packs. */
const INTERRUPTED = 'a compaction was interrupted and left packs that are about to be removed';

class RewriteRun {
  readonly #context: OperationContext;
  readonly #repository: Repository;
  readonly #opened: OpenedState;
  readonly #options: RewriteOptions;
  readonly #chunks: RepositoryChunkSaver;
  readonly #trees: TreeRewriter;
  readonly #matched = new Set<string>();
  readonly #rewritten: RewrittenSnapshot[] = [];
  /** Snapshots that have replaced others, by the ids of those. */
  readonly #replacers = new Map<string, SnapshotListing[]>();

  constructor(context: OperationContext, repository: Repository, opened: OpenedState, options: RewriteOptions) {
    this.#context = context;
    this.#repository = repository;
    this.#opened = opened;
    this.#options = options;
    this.#chunks = new RepositoryChunkSaver(repository, opened.state, {
      writes: options.dryRun !== true,
      condemnedPackIds: opened.listing.condemned.packIds,
      progress: context.progress,
    });
    const { reader } = opened;
    const { hasher } = repository;
    this.#trees = new TreeRewriter({ reader, hasher, chunks: this.#chunks, pacer: new Pacer(context) });
  }

  get count(): number {
    return this.#rewritten.length;
  }

  /** For a rewrite that was interrupted before it deleted the old snapshots: what it has made is not made again. */
  noteEarlier({ listings, copied }: ReadSnapshots): void {
    for (const listing of listings) {
      const { replaces } = listing.snapshot;
      // Of a damaged manifest only the copy would be left.
      if (replaces === undefined || copied.has(listing.id)) continue;
      this.#replacers.set(replaces, [...(this.#replacers.get(replaces) ?? []), listing]);
    }
  }

  async rewrite(old: SnapshotListing): Promise<void> {
    const selection = selectionOf(this.#options, old.snapshot.base);
    const { tree, leftOut } = await this.#trees.rewrite(old.snapshot, selection).catch(async (error: unknown) => {
      await this.#chunks.abandon().catch(() => undefined);
      throw error;
    });
    const unmatched = new Set(selection.patterns.unmatched());
    const { patterns, include } = this.#options;
    for (const pattern of [...textsOf(patterns), ...textsOf(include)])
      if (!unmatched.has(pattern)) this.#matched.add(pattern);
    const { newHost = old.snapshot.hostname, newTime: given } = this.#options;
    const newTime = given === undefined ? old.snapshot.time : new Date(given).toISOString();
    const treeId = Buffer.from(tree).toString('hex');
    const { snapshot } = old;
    if (treeId === snapshot.tree && newHost === snapshot.hostname && newTime === snapshot.time) return;
    const changes = { tree: treeId, hostname: newHost, time: newTime };
    const earlier = this.#findEarlier(old, changes);
    if (earlier !== undefined) {
      const newId = this.#options.dryRun === true ? undefined : earlier.id;
      this.#rewritten.push({ old, newId, snapshot: earlier.snapshot, leftOut });
      return;
    }
    const made = changed(old, changes, leftOut);
    // restic adds the tag too, to tell the two apart.
    const mark =
      this.#options.forget === true ? { replaces: old.id } : { tags: [...new Set([...snapshot.tags, 'rewrite'])] };
    this.#rewritten.push({ old, newId: undefined, snapshot: { ...made, ...mark }, leftOut });
  }

  /** Returns what the same rewrite of `old` has made before. What its trees lacked was stored again by this one. */
  #findEarlier(old: SnapshotListing, { tree, hostname, time }: Changes): SnapshotListing | undefined {
    return this.#replacers.get(old.id)?.find(({ snapshot }) => {
      return snapshot.tree === tree && snapshot.hostname === hostname && snapshot.time === time;
    });
  }

  async finish(): Promise<Pick<RewriteResult, 'rewritten' | 'freed' | 'excludesUnmatched' | 'includesUnmatched'>> {
    const { state, reader } = this.#opened;
    const [excludesUnmatched, includesUnmatched] = [this.#options.patterns, this.#options.include].map((patterns) =>
      textsOf(patterns).filter((pattern) => !this.#matched.has(pattern)),
    ) as [string[], string[]];
    const roots = this.#rewritten.map(({ snapshot }) => Buffer.from(snapshot.tree, 'hex'));
    const ids = this.#rewritten.map(({ old }) => old.id).filter((id) => state.snapshots.has(id));
    const replacing = { roots, trees: this.#trees.trees };
    const freed = await measureReplacedRelease(state, ids, replacing, reader.readTree);
    return { rewritten: await this.#commit(), freed, excludesUnmatched, includesUnmatched };
  }

  async #commit(): Promise<readonly RewrittenSnapshot[]> {
    if (this.#options.dryRun === true || this.count === 0) return this.#rewritten;
    await this.#chunks.finish();
    const given = { context: this.#context, repository: this.#repository };
    const made = this.#rewritten.filter(({ newId }) => newId === undefined);
    // Perhaps nothing that a domain keeps is left in them.
    const manifests = await withLenders(
      this.#repository,
      this.#opened,
      made.map(({ snapshot }) => snapshot),
    );
    const makers = manifests.map((snapshot) => () => encodeSnapshot(snapshot));
    const committed = await commitSnapshots(given, this.#chunks, makers, manifestsWithoutCopy(this.#opened));
    const commits = new Map(
      made.map((each, index) => [each, { newId: committed[index]!.id, snapshot: manifests[index]! }]),
    );
    return this.#rewritten.map((each) => ({ ...each, ...commits.get(each) }));
  }
}

type Changes = Pick<Snapshot, 'tree' | 'hostname' | 'time'>;

/** Without `original`: a copy of the old snapshot in another repository is no copy of this one. */
function changed({ snapshot }: SnapshotListing, changes: Changes, { fileCount, sizeBytes }: LeftOut): Snapshot {
  const { original: _original, replaces: _replaces, ...members } = snapshot;
  const { summary } = snapshot;
  const isNewTime = changes.time !== snapshot.time;
  return {
    ...members,
    ...changes,
    nonce: randomBytes(16).toString('hex'),
    ...(isNewTime ? { utcOffsetMinutes: localOffsetMinutes(Date.parse(changes.time)) } : {}),
    summary: {
      ...summary,
      totalFilesProcessed: Math.max(0, summary.totalFilesProcessed - fileCount),
      totalBytesProcessed: Math.max(0, summary.totalBytesProcessed - sizeBytes),
    },
  };
}

/** Another domain relies on everything in a hold. */
function assertNoHold(listings: readonly SnapshotListing[]): void {
  const hold = listings.find(({ snapshot }) => snapshot.hold !== undefined);
  if (hold === undefined) return;
  throw new RefusedError(`snapshot ${describeListing(hold)} is held for the domain ${hold.snapshot.hold!.name}`, {
    advice: { code: 'release-hold' },
  });
}

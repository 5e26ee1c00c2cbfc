import type { CopySides } from './open-copier.ts';
import type { CopiedSnapshot } from './copy-commits.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { ReadSnapshots } from '../../core/repository/read-snapshots.ts';
import type { ReusedChunks } from '../../core/saving/backup-tally.ts';
import { ChunkQueue } from '../../core/saving/chunk-queue.ts';
import { damageWarner } from '../../core/saving/problems.ts';
import { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import { refreshCheckpoint } from '../../core/saving/checkpointing.ts';
import { haveSameChunker, haveSameIds } from '../../core/saving/chunker-of.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { Caller } from '../../core/session/caller.ts';
import type { CopierServices } from './content-copier.ts';
import { CopiesThere, originalIdOf } from '../../core/snapshots/copies-there.ts';
import { CopyCommits } from './copy-commits.ts';
import { CopyEstimate } from './estimate.ts';
import { openCopier } from './open-copier.ts';
import { allSnapshotsOf } from './select-for-copy.ts';
import type { SelectedSnapshots, SourceSnapshot } from './select-for-copy.ts';
import type { CopyProblem } from '../../core/session/notices.ts';
import type { SnapshotCopier } from './snapshot-copier.ts';
import { SourceDamage } from './source-damage.ts';

interface CopyRunOptions extends CopySides {
  readonly from: OpenedState;
  readonly to: OpenedState;
  /** Packs of the destination on which the copies must not rely. */
  readonly unreliable: ReadonlySet<string>;
  /** The snapshots of the source. */
  readonly all: ReadSnapshots;
  readonly dryRun: boolean;
  readonly onSnapshot: ((copied: CopiedSnapshot) => void) | undefined;
}

/** At most this many snapshots are committed together. */
const PENDING_MAX = 64;

/** Copies the selected snapshots between two opened repositories. */
export class CopyRun {
  readonly #given: CopyRunOptions;
  readonly #chunks: RepositoryChunkSaver;
  readonly #work: CountedWork;
  readonly #services: CopierServices;
  readonly #copies: CopiesThere;
  readonly #commits: CopyCommits;
  /** As in the result of a copy. */
  readonly isExact: boolean;
  readonly snapshots: CopiedSnapshot[] = [];
  readonly problems: CopyProblem[] = [];

  constructor(given: CopyRunOptions) {
    const { context, there, source, destination, from, to, all, dryRun } = given;
    this.#given = given;
    this.#work = new CountedWork(context);
    this.#chunks = new RepositoryChunkSaver(destination, to.state, {
      writes: !dryRun,
      condemnedPackIds: given.unreliable,
      progress: context.progress,
    });
    this.#services = {
      source: from,
      destination: to,
      hasher: destination.hasher,
      chunks: this.#chunks,
      queue: new ChunkQueue(this.#chunks),
      work: this.#work,
      onDamagedCopy: damageWarner(there, this.#chunks),
      pacer: new Pacer(context),
      atOnce: source.work.atOnce,
    };
    this.#copies = new CopiesThere(destination);
    this.#commits = new CopyCommits({
      context: there,
      repository: destination,
      opened: to,
      chunks: this.#chunks,
      copies: this.#copies,
      originals: new Map(all.listings.map((listing) => [listing.id, originalIdOf(listing)])),
      onSnapshot: (copied) => this.#done(copied),
    });
    this.isExact = haveSameIds(source, destination) && haveSameChunker(source, destination);
  }

  get storedBytes(): number {
    return this.#chunks.counts.dataAddedPacked;
  }

  get reused(): ReusedChunks {
    return this.#chunks.reused;
  }

  /** Ids of the snapshots that are there now, or were reported. */
  get doneIds(): readonly string[] {
    return [...this.snapshots.map(({ id }) => id), ...this.problems.map(({ snapshotId }) => snapshotId)];
  }

  async run({ snapshots, problems }: SelectedSnapshots): Promise<void> {
    const { context, there, destination, from, to, all, dryRun } = this.#given;
    for (const problem of problems) this.#report(problem);
    await this.#copies.refresh();
    await this.#copies.ignoreDamaged(snapshots, to);
    const missing = snapshots.filter((snapshot) => this.#copies.find(snapshot) === undefined);
    try {
      const copier = await openCopier(this.#given, this.#services, {
        all: allSnapshotsOf(from, all),
        copies: this.#copies,
        missing,
      });
      beginPhase(context.progress, 'copying');
      await this.#announceTotals(copier, missing);
      await (dryRun ? this.#predictAll(copier, snapshots) : this.#copyAll(copier, snapshots));
      await this.#chunks.finish();
    } catch (error) {
      this.#services.queue.dispose();
      // An error during the cleanup must not hide the original error.
      await this.#chunks.abandon().catch(() => undefined);
      throw error;
    }
    const madeCount = dryRun ? 0 : this.snapshots.filter(({ added }) => added !== undefined).length;
    const opened = { context: there, repository: destination, opened: to };
    if (madeCount > 0) await refreshCheckpoint(opened, this.#chunks, madeCount);
  }

  async #announceTotals(copier: SnapshotCopier, missing: readonly SourceSnapshot[]): Promise<void> {
    const { dryRun, context } = this.#given;
    const { progress } = context;
    if (progress === undefined) return;
    Object.assign(progress, { unit: 'snapshot', filesTotal: missing.length });
    if (!progress.isShown || dryRun) return;
    const estimate = this.#newEstimate(copier);
    for (const { root } of missing) await estimate.add(root).catch(unlessDamaged);
    progress.bytesTotal = estimate.dataBytes;
  }

  #newEstimate(copier: SnapshotCopier): CopyEstimate {
    return new CopyEstimate(this.#services, copier, (treeId) => this.isExact && this.#chunks.has(treeId, 0));
  }

  async #predictAll(copier: SnapshotCopier, snapshots: readonly SourceSnapshot[]): Promise<void> {
    const estimate = this.#newEstimate(copier);
    for (const snapshot of snapshots) {
      await this.#unlessDamaged(snapshot, async () => {
        const { id, snapshot: members } = snapshot;
        const copyId = this.#copies.find(snapshot);
        const added = copyId === undefined ? await estimate.add(snapshot.root) : undefined;
        this.#done({ id, snapshot: members, copyId, added });
      });
    }
  }

  async #copyAll(copier: SnapshotCopier, snapshots: readonly SourceSnapshot[]): Promise<void> {
    const enoughBytes = this.#given.destination.sizes.packBytes;
    for (const snapshot of snapshots) {
      if (this.#commits.has(snapshot)) await this.#commits.commit();
      const copyId = this.#copies.find(snapshot);
      if (copyId !== undefined) {
        await this.#commits.commit();
        this.#done({ id: snapshot.id, snapshot: snapshot.snapshot, copyId, added: undefined });
      } else {
        await this.#unlessDamaged(snapshot, async () => this.#copy(snapshot, copier));
      }
      if (this.#work.bytes < enoughBytes && this.#commits.count < PENDING_MAX) continue;
      await this.#commits.commit();
      this.#work.bytes = 0;
    }
    await this.#commits.commit();
  }

  async #copy(snapshot: SourceSnapshot, copier: SnapshotCopier): Promise<void> {
    const { counts } = this.#chunks;
    const { fileCount } = copier;
    const { dataBlobs, treeBlobs, dataAdded } = counts;
    const tree = await copier.copy(snapshot.root);
    this.#commits.add(snapshot, tree, {
      fileCount: copier.fileCount - fileCount,
      chunkCount: counts.dataBlobs - dataBlobs,
      treeCount: counts.treeBlobs - treeBlobs,
      bytes: counts.dataAdded - dataAdded,
    });
  }

  /** Reports a snapshot of which something cannot be read. */
  async #unlessDamaged(snapshot: SourceSnapshot, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof SourceDamage)) throw error;
      const { damage, path } = error;
      // If the lock of this process is gone, what is missing may have been removed since.
      const reported = await this.#given.source.explain(damage);
      if (reported !== damage) throw reported;
      this.#report({ snapshotId: snapshot.id, path, message: damage.message, advice: damage.advice });
    }
  }

  #done(copied: CopiedSnapshot): void {
    const { context, onSnapshot } = this.#given;
    this.snapshots.push(copied);
    if (context.progress !== undefined && copied.added !== undefined) context.progress.filesDone += 1;
    onSnapshot?.(copied);
  }

  #report(problem: CopyProblem): void {
    const { progress, onNotice } = this.#given.context;
    this.problems.push(problem);
    if (progress !== undefined) progress.errorCount += 1;
    onNotice?.({ kind: 'copy-problem', ...problem });
  }
}

/** Counts what is read and written, to commit after enough of it. */
class CountedWork {
  bytes = 0;
  readonly #progress: Caller['progress'];

  constructor({ progress }: Caller) {
    this.#progress = progress;
  }

  addData(count: number): void {
    this.bytes += count;
    if (this.#progress !== undefined) this.#progress.bytesDone += count;
  }

  addTree(count: number): void {
    this.bytes += count;
  }
}

/** Reported when the snapshot is copied. */
function unlessDamaged(error: unknown): void {
  if (!(error instanceof SourceDamage)) throw error;
}

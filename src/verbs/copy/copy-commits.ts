import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { randomBytes } from 'node:crypto';
import { encodeSnapshot } from '../../core/format/snapshot.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { manifestsWithoutCopy } from '../../core/saving/manifest-copies.ts';
import type { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import { commitSnapshots, withLenders } from '../../core/saving/commit-snapshots.ts';
import type { Caller } from '../../core/session/caller.ts';
import { originalIdOf } from '../../core/snapshots/copies-there.ts';
import type { CopiesThere } from '../../core/snapshots/copies-there.ts';
import type { CopyAmount } from './estimate.ts';
import type { SourceSnapshot } from './select-for-copy.ts';

/** A snapshot whose chunks are stored, or one that was there before. */
interface PendingCopy {
  readonly snapshot: SourceSnapshot;
  readonly added: CopyAmount;
  /** The id of its root tree in the destination. */
  readonly tree: Uint8Array;
}

interface MarkedCopy extends Pick<PendingCopy, 'snapshot'> {
  /** Of the copy. */
  readonly marks: Pick<Snapshot, 'tree' | 'reliesOn'>;
}

interface CommitServices {
  /** Of the destination. */
  readonly context: Caller;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly chunks: RepositoryChunkSaver;
  readonly copies: CopiesThere;
  /** The ids in the repositories where they were made, by the ids in the source. */
  readonly originals: ReadonlyMap<string, string>;
  readonly onSnapshot: (copied: CopiedSnapshot) => void;
}

/**
 * Commits copies, small ones together: each commit writes two packs and a segment, and verifies all packs so far, which
 * took most of the time of a copy of a thousand small snapshots.
 */
export class CopyCommits {
  readonly #services: CommitServices;
  #pending: PendingCopy[] = [];
  /** Snapshots of the destination whose manifest has no copy yet. */
  #withoutCopy: ReadonlyMap<string, Uint8Array>;

  constructor(services: CommitServices) {
    this.#services = services;
    this.#withoutCopy = manifestsWithoutCopy(services.opened);
  }

  get count(): number {
    return this.#pending.length;
  }

  /** Whether a copy of the same snapshot waits for its commit. */
  has(snapshot: SourceSnapshot): boolean {
    return this.#pending.some((each) => originalIdOf(each.snapshot) === originalIdOf(snapshot));
  }

  add(snapshot: SourceSnapshot, tree: Uint8Array, added: CopyAmount): void {
    this.#pending.push({ snapshot, tree: Uint8Array.from(tree), added });
  }

  /** Makes all chunks durable, and commits the copies that another process has not made meanwhile. */
  async commit(): Promise<void> {
    const { chunks, copies } = this.#services;
    const pending = this.#pending;
    if (pending.length === 0) return;
    await chunks.flush();
    await copies.refresh();
    const fresh = pending.filter(({ snapshot, tree }) => copies.find(snapshot, tree) === undefined);
    if (fresh.length > 0) await this.#commit(fresh);
    this.#pending = [];
    for (const { snapshot, tree, added } of pending) {
      const { id, snapshot: members } = snapshot;
      const isFresh = fresh.some((each) => each.snapshot === snapshot) || copies.find(snapshot) === undefined;
      this.#services.onSnapshot({
        id,
        snapshot: members,
        copyId: copies.find(snapshot, tree),
        added: isFresh ? added : undefined,
      });
    }
  }

  async #commit(fresh: readonly PendingCopy[]): Promise<void> {
    const { context, repository, chunks, copies } = this.#services;
    const made: Snapshot[] = [];
    const marked = await this.#withLenders(fresh);
    const makers = marked.map((copy) => (ids: readonly string[]) => {
      const ofSameCommit = new Map(ids.map((id, index) => [originalIdOf(fresh[index]!.snapshot), id]));
      const snapshot = this.#copyOf(copy, ofSameCommit);
      made.push(snapshot);
      return encodeSnapshot(snapshot);
    });
    const committed = await commitSnapshots({ context, repository }, chunks, makers, this.#withoutCopy);
    this.#withoutCopy = new Map();
    for (const [index, { id }] of committed.entries()) copies.add({ id, snapshot: made[index]! });
  }

  /** Chunks that the destination has borrowed are not copied. */
  async #withLenders(fresh: readonly PendingCopy[]): Promise<readonly MarkedCopy[]> {
    const { repository, opened } = this.#services;
    const trees = fresh.map(({ tree }) => ({ tree: Buffer.from(tree).toString('hex') }));
    const marked: readonly Pick<Snapshot, 'tree' | 'reliesOn'>[] = await withLenders(repository, opened, trees);
    return fresh.map(({ snapshot }, index) => ({ snapshot, marks: marked[index]! }));
  }

  #copyOf({ snapshot, marks }: MarkedCopy, ofSameCommit: ReadonlyMap<string, string>): Snapshot {
    const { copies, originals } = this.#services;
    // The copy keeps nothing for others, and relies on other domains than the original.
    const { parent, replaces: _, hold: _hold, reliesOn: _reliesOn, ...members } = snapshot.snapshot;
    const originalParent = originals.get(parent ?? '') ?? parent ?? '';
    const copiedParent = ofSameCommit.get(originalParent) ?? copies.idOfCopy(originalParent);
    return {
      ...members,
      nonce: randomBytes(16).toString('hex'),
      ...marks,
      ...(copiedParent === undefined ? {} : { parent: copiedParent }),
      original: originalIdOf(snapshot),
    };
  }
}

/** A snapshot of the source that is in the destination now, or would be. */
export interface CopiedSnapshot extends SnapshotListing {
  /** The id of the copy. Undefined in a dry run, unless it was there before. */
  readonly copyId: string | undefined;
  /** Undefined if it was there before. */
  readonly added: CopyAmount | undefined;
}

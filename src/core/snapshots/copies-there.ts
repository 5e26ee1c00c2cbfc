import { isDeepStrictEqual } from 'node:util';
import { isAbsent, isDamage } from '../errors.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Repository } from '../repository/repository.ts';
import { findMissing } from './live-walk.ts';

/** The id with which a snapshot was made: in another repository, or before it was changed. */
export function originalIdOf({ id, snapshot }: SnapshotListing): string {
  return snapshot.original ?? id;
}

/** The snapshots of a repository, by the ids in the repositories where they were made. */
export class CopiesThere {
  readonly #files: Repository['files'];
  readonly #byOriginal = new Map<string, SnapshotListing[]>();
  readonly #readIds = new Set<string>();
  readonly #damagedIds = new Set<string>();

  constructor({ files }: Repository) {
    this.#files = files;
  }

  /** Reads the manifests of snapshots that are new. Another process may copy the same snapshots. */
  async refresh(): Promise<void> {
    const listed = (await this.#files.snapshotIds()).filter((id) => !this.#readIds.has(id));
    // A snapshot whose copy is only in an old listing would not be copied.
    const fresh = await this.#files.existingSnapshots(listed);
    const read = async (id: string): Promise<Snapshot | undefined> => this.#read(id);
    for await (const [id, reading] of this.#files.prefetch(fresh, read)) {
      this.#readIds.add(id);
      const snapshot = await reading;
      if (snapshot !== undefined) this.add({ id, snapshot });
    }
  }

  /** Adds a snapshot that was made meanwhile. */
  add(listing: SnapshotListing): void {
    this.#readIds.add(listing.id);
    const original = originalIdOf(listing);
    const known = this.#byOriginal.get(original);
    if (known === undefined) this.#byOriginal.set(original, [listing]);
    else known.push(listing);
  }

  /**
   * Returns the id of the copy of a snapshot, or undefined. `storedTree`:
   * the id of the root of a new copy, all of which is stored. A damaged copy that has it is not damaged any more.
   */
  find(listing: SnapshotListing, storedTree?: Uint8Array): string | undefined {
    const candidates = this.#byOriginal.get(originalIdOf(listing)) ?? [];
    const stored = storedTree && Buffer.from(storedTree).toString('hex');
    const isWhole = ({ id, snapshot }: SnapshotListing): boolean =>
      !this.#damagedIds.has(id) || snapshot.tree === stored;
    return candidates.find((each) => isSameBackup(each.snapshot, listing.snapshot) && isWhole(each))?.id;
  }

  /** From now on, `find` ignores those copies of snapshots that lack something in the destination. */
  async ignoreDamaged(listings: readonly SnapshotListing[], destination: OpenedState): Promise<void> {
    if (destination.damage.isWhole) return;
    for (const listing of listings) {
      for (let id = this.find(listing); id !== undefined; id = this.find(listing)) {
        const root = destination.state.snapshots.get(id)?.tree;
        if (root === undefined || (await findMissing(destination, root)) === undefined) break;
        this.#damagedIds.add(id);
      }
    }
  }

  /** Returns the id of any copy of the snapshot that was made with this id. */
  idOfCopy(originalId: string): string | undefined {
    return this.#byOriginal.get(originalId)?.[0]?.id;
  }

  /** Returns undefined if the manifest was deleted meanwhile, or neither it nor its copy can be read. */
  async #read(id: string): Promise<Snapshot | undefined> {
    for (const read of [async () => this.#files.readManifest(id), async () => this.#files.readManifestCopy(id)]) {
      try {
        return (await read()).snapshot;
      } catch (error) {
        if (isAbsent(error)) return undefined;
        if (!isDamage(error)) throw error;
      }
    }
    return undefined;
  }
}

/** Whether two snapshots differ only in what is of one repository, and in tags and marks that can change later. */
function isSameBackup(one: Snapshot, other: Snapshot): boolean {
  return isDeepStrictEqual(commonMembersOf(one), commonMembersOf(other));
}

function commonMembersOf(snapshot: Snapshot): Partial<Snapshot> {
  const { nonce: _nonce, tree: _tree, parent: _parent, original: _original, replaces: _replaces, ...common } = snapshot;
  // Two copies of one backup would count twice for retention rules.
  const { tags: _tags, comment: _comment, pinned: _pinned, keepUntil: _keepUntil, ...marked } = common;
  const { hold: _hold, reliesOn: _reliesOn, ...members } = marked;
  return members;
}

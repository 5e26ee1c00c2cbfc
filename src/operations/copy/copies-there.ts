import { isDeepStrictEqual } from 'node:util';
import { isAbsent, isDamage } from '../../errors.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { SnapshotListing } from '../../repository/read-snapshots.ts';
import type { Repository } from '../../repository/repository.ts';

/** The id of a snapshot in the repository where it was made. */
export function originalIdOf({ id, snapshot }: SnapshotListing): string {
  return snapshot.original ?? id;
}

/** The snapshots of a repository, by the ids in the repositories where they were made. */
export class CopiesThere {
  readonly #files: Repository['files'];
  readonly #byOriginal = new Map<string, SnapshotListing[]>();
  readonly #readIds = new Set<string>();

  constructor({ files }: Repository) {
    this.#files = files;
  }

  /** Reads the manifests of snapshots that are new. Another process may copy the same snapshots. */
  async refresh(): Promise<void> {
    const fresh = (await this.#files.snapshotIds()).filter((id) => !this.#readIds.has(id));
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
    this.#byOriginal.set(original, [...(this.#byOriginal.get(original) ?? []), listing]);
  }

  /** Returns the id of the copy of a snapshot, or undefined. One with other tags, for example, is not a copy. */
  find(listing: SnapshotListing): string | undefined {
    const candidates = this.#byOriginal.get(originalIdOf(listing)) ?? [];
    return candidates.find(({ snapshot }) => isSameBackup(snapshot, listing.snapshot))?.id;
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

/** Whether two snapshots differ only in what is of one repository. */
function isSameBackup(one: Snapshot, other: Snapshot): boolean {
  return isDeepStrictEqual(commonMembersOf(one), commonMembersOf(other));
}

function commonMembersOf(snapshot: Snapshot): Partial<Snapshot> {
  const { nonce: _nonce, tree: _tree, parent: _parent, original: _original, ...members } = snapshot;
  return members;
}

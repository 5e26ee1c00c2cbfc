import { BackendError, LdmError, RepositoryNotFoundError } from '../../core/errors.ts';
import type { OpenFile } from './fuse/file-node.ts';
import { CONFIG_NAME } from '../../core/format/layout.ts';
import { TreeIndex } from '../../core/format/tree/tree-index.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { compareOfSameTime, currentListings } from '../../core/repository/read-snapshots.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { SnapshotFile } from '../../core/snapshots/snapshot-file.ts';
import { matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { PathTemplate } from './path-templates.ts';
import { nameSnapshots } from './snapshot-names.ts';
import type { SnapshotDirectory } from './snapshot-names.ts';

/** Memory for decompressed blocks. */
const CACHE_BYTES = 128 * 1024 * 1024;
/** How long the names of snapshots are used before the repository is listed again. */
const LISTED_MS = 1000;

interface MountedSnapshotsOptions {
  /** The place of the repository, for messages. */
  readonly place: string;
  readonly filter: SnapshotFilter;
  /** How the snapshots are named; see `nameSnapshots`. */
  readonly templates: readonly PathTemplate[];
  /** Called with a failure that concerns no single request. */
  readonly onFailure: (error: unknown) => void;
  readonly opened: OpenedState;
  readonly listings: readonly SnapshotListing[];
  readonly damaged: ReadonlyMap<string, string>;
}

/** The snapshots of a repository while it is mounted, including those that are made meanwhile. */
export class MountedSnapshots {
  /** Manifests that were missing or damaged when the repository was opened, with the reason, by the ids of snapshots. */
  readonly damaged: ReadonlyMap<string, string>;
  readonly #repository: Repository;
  readonly #filter: SnapshotFilter;
  readonly #templates: readonly PathTemplate[];
  readonly #place: string;
  readonly #onFailure: (error: unknown) => void;
  #opened: OpenedState;
  #opening: Promise<void> | undefined;
  /** Snapshots that were or are in the state. One that is deleted leaves it, but its chunks remain while this runs. */
  readonly #foldedIds = new Set<string>();
  /** All that were ever listed, by id. */
  readonly #known: Map<string, SnapshotListing>;
  #listedIds: readonly string[] = [];
  #listedAt = -Infinity;
  #listing: Promise<void> | undefined;
  #names: SnapshotDirectory;

  private constructor(repository: Repository, given: MountedSnapshotsOptions) {
    this.damaged = given.damaged;
    this.#repository = repository;
    this.#place = given.place;
    this.#filter = given.filter;
    this.#templates = given.templates;
    this.#onFailure = given.onFailure;
    this.#opened = given.opened;
    this.#known = new Map(given.listings.map((listing) => [listing.id, listing]));
    this.#listedIds = [...this.#known.keys()];
    this.#names = this.#nameListed();
  }

  static async open(
    repository: Repository,
    options: Pick<MountedSnapshotsOptions, 'place' | 'onFailure'> & {
      readonly filter?: SnapshotFilter | undefined;
      readonly templates?: readonly PathTemplate[];
    },
  ): Promise<MountedSnapshots> {
    repository.shareBlocks(CACHE_BYTES);
    const { listings, copied, damaged } = await repository.files.readSnapshots();
    const opened = await repository.openState();
    const found = { opened, listings, damaged: new Map([...copied, ...damaged]) };
    const { filter = {}, templates = [] } = options;
    return new MountedSnapshots(repository, { ...options, filter, templates, ...found });
  }

  /** How many snapshots match the filter. */
  get count(): number {
    return this.#matching().length;
  }

  /** Returns the names of the snapshots that there are now; of those known before if they cannot be listed. */
  readonly names = async (): Promise<SnapshotDirectory> => {
    if (performance.now() - this.#listedAt >= LISTED_MS) {
      this.#listing ??= this.#list().finally(() => (this.#listing = undefined));
      await this.#listing;
    }
    return this.#names;
  };

  /** Reads a directory of a snapshot. */
  async openTree({ id }: SnapshotListing, treeId: Uint8Array): Promise<TreeIndex> {
    return await this.#guard(async () => {
      // Where the chunks of a snapshot are is only known once it is in the state.
      if (!this.#foldedIds.has(id)) await this.#update(id);
      return new TreeIndex(await this.#opened.reader.read(treeId, 0));
    });
  }

  readonly openFile = async (entry: TreeEntry): Promise<OpenFile> => {
    const guard = this.#guard;
    const file = await guard(() => new SnapshotFile({ opened: this.#opened, guard }, entry));
    let holes: Promise<Float64Array> | undefined;
    const readHoles = async (): Promise<Float64Array> => {
      try {
        return await (holes ??= file.holes());
      } catch (error) {
        // The next request tries again.
        holes = undefined;
        throw error;
      }
    };
    return {
      sizeBytes: entry.sizeBytes,
      holes: readHoles,
      read: (offset, target) => file.readInto(target, offset),
    };
  };

  readonly #guard = <T>(read: () => T | Promise<T>): T | Promise<T> => {
    const explain = async (error: unknown): Promise<T> => {
      throw await this.#explain(error);
    };
    try {
      const reading = read();
      return reading instanceof Promise ? reading.catch(explain) : reading;
    } catch (error) {
      return explain(error);
    }
  };

  /**
   * Returns the error to report. It is that the repository is gone, or that the lock was lost, for example while the
   * machine was suspended, if one of these is the reason.
   */
  async #explain(error: unknown): Promise<unknown> {
    // To ask a place that has just gone away would take as long as the request that has failed.
    const isAway = error instanceof BackendError && error.kind === 'transient';
    if (!(error instanceof LdmError) || isAway) return error;
    if (await this.#isThere()) return await this.#repository.explain(error);
    return new RepositoryNotFoundError(`the repository ${this.#place} is no longer there`, {
      hint: 'Mount it again when it is back.',
      cause: error,
    });
  }

  /** True if that cannot be found out. */
  async #isThere(): Promise<boolean> {
    try {
      return await this.#repository.files.exists(CONFIG_NAME);
    } catch {
      return true;
    }
  }

  async #update(id: string): Promise<void> {
    if (this.#opened.state.snapshots.has(id)) return void this.#foldedIds.add(id);
    this.#opening ??= this.#repository
      .openState({ from: this.#opened })
      .then((opened) => void (this.#opened = opened))
      .finally(() => (this.#opening = undefined));
    await this.#opening;
    // Also one that could not be folded: then its chunks are not found, which is the error to report.
    this.#foldedIds.add(id);
  }

  async #list(): Promise<void> {
    const { files } = this.#repository;
    try {
      const ids = await files.snapshotIds();
      const fresh = ids.filter((id) => !this.#known.has(id));
      for await (const [id, reading] of files.prefetch(fresh, async (one) => files.readManifest(one))) {
        // One that is damaged, or was deleted since the listing, is left out until the next listing.
        const read = await reading.catch(() => undefined);
        if (read !== undefined) this.#known.set(id, { id, snapshot: read.snapshot });
      }
      if (ids.length !== this.#listedIds.length || ids.some((id, index) => id !== this.#listedIds[index])) {
        this.#listedIds = ids;
        this.#names = this.#nameListed();
      }
    } catch (error) {
      this.#onFailure(await this.#explain(error));
    }
    this.#listedAt = performance.now();
  }

  #nameListed(): SnapshotDirectory {
    return nameSnapshots(this.#matching(), this.#templates);
  }

  /** Oldest first. */
  #matching(): SnapshotListing[] {
    return currentListings(this.#listedIds.flatMap((id) => this.#known.get(id) ?? []))
      .filter(({ snapshot }) => snapshot.deletedUntil === undefined && matchesFilter(snapshot, this.#filter))
      .map((listing) => ({ listing, timeMs: Date.parse(listing.snapshot.time) }))
      .toSorted((a, b) => a.timeMs - b.timeMs || compareOfSameTime(a.listing, b.listing))
      .map(({ listing }) => listing);
  }
}

import { RefusedError } from '../errors.ts';
import { ReleaseSet } from '../ldm/release-set.ts';
import type { ReleaseMeasure } from '../ldm/fold-release.ts';
import { isListingCurrent } from '../repository/current-listing.ts';
import { lostMessage, withSuperseded } from '../repository/read-snapshots.ts';
import type { ReadSnapshots, SnapshotListing } from '../repository/read-snapshots.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { PathInput } from '../util/byte-string.ts';
import { byteStringOf, bytesOf } from '../util/byte-string.ts';
import { assertArguments } from '../session/arguments.ts';
import { withRepository } from '../session/session.ts';
import type { OperationContext } from '../session/context.ts';
import { explainDeleted } from '../session/deleted-snapshot.ts';
import { PathVersions, soughtPath } from './path-versions.ts';
import type { PathVersion, VersionOptions } from './path-versions.ts';
import { SnapshotReader } from './snapshot-reader.ts';
import type { ReadServices } from './snapshot-file.ts';
import { TreeCache } from './tree-cache.ts';
import { assertCountable, parseSelector, selectSnapshot } from './select-snapshots.ts';
import { FILTER_KINDS, matchesFilter } from './snapshot-filter.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';

export type { EntryInput, SnapshotReader } from './snapshot-reader.ts';
export type { ReadFileOptions, SnapshotFile } from './snapshot-file.ts';

export interface OpenForReadingOptions {
  /** The memory for decompressed blocks. Default: 64 MiB. */
  readonly cacheBytes?: number;
}

export interface OpenSnapshotOptions extends OpenForReadingOptions {
  /** `ID[:path]`, `latest`, `latest~N`. */
  readonly selector: PathInput;
  readonly filter?: SnapshotFilter;
}

/** A snapshot that is open for reading. */
export interface OpenedSnapshot extends SnapshotReader {
  /** The bytes of the path in the selector; empty if it had none. Methods take all paths from the root of the snapshot. */
  readonly path: Uint8Array;
  /** Releases the lock. Reads that are under way fail. */
  close(): Promise<void>;
}

export interface ReadVersionsOptions extends VersionOptions {
  /** Only among these snapshots. */
  readonly filter?: SnapshotFilter;
  /** Cancels the search, and not what else is read from the repository. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * All snapshots of a repository, open for reading. Until it is closed, it holds a shared lock with its heartbeat: a
 * compaction waits, and backups and deletes do not. With the option `readsUnlocked` of the context, nothing waits, and
 * what is removed meanwhile is missing. Snapshots that are made meanwhile are not seen.
 */
export class RepositoryReader {
  /** The snapshots, oldest first. */
  readonly snapshots: readonly SnapshotListing[];
  readonly #context: OperationContext;
  readonly #repository: Repository;
  readonly #services: ReadServices;
  readonly #found: ReadSnapshots;
  readonly #opened: OpenedState;
  readonly #end: () => Promise<void>;
  #isClosed = false;
  #releaseSet: ReleaseSet | undefined;
  #lastMeasure: Promise<unknown> = Promise.resolve();

  /**
   * For `openRepositoryForReading`.
   * @internal
   */
  constructor(given: {
    readonly context: OperationContext;
    readonly repository: Repository;
    readonly found: ReadSnapshots;
    readonly opened: OpenedState;
    readonly end: () => Promise<void>;
  }) {
    this.#context = given.context;
    this.#repository = given.repository;
    this.#found = given.found;
    this.#opened = given.opened;
    this.#end = given.end;
    this.snapshots = given.found.listings;
    const guard: ReadServices['guard'] = async (read) => this.#guard(read);
    this.#services = { opened: given.opened, trees: new TreeCache(given.opened.reader), guard };
  }

  /** Finds a snapshot by `ID`, `latest` or `latest~N`. Throws `SnapshotNotFoundError`. */
  select(selector: PathInput, filter: SnapshotFilter = {}): SnapshotListing {
    const { name } = parseSelector(selector);
    const listing = selectSnapshot(this.#context, this.#found, name, { filter });
    assertCountable([name], this.#opened.damage.lostSnapshots);
    return listing;
  }

  /** Reads one of the snapshots. Nothing has to be closed but the repository. */
  open(listing: SnapshotListing): SnapshotReader {
    return new SnapshotReader(this.#services, listing);
  }

  /**
   * Measures what deleting some of the snapshots would free: exactly what `deleteSnapshots` says. The next call reads
   * only what the difference between the two sets needs.
   */
  async measureDeletion(listings: readonly SnapshotListing[]): Promise<ReleaseMeasure> {
    const { state, reader } = this.#opened;
    const ids = new Set(withSuperseded(listings).filter((id) => state.snapshots.has(id)));
    const measured = this.#lastMeasure.then(async () => {
      const set = (this.#releaseSet ??= new ReleaseSet(state, reader.readTree));
      // After an error, the next call begins with nothing.
      this.#releaseSet = undefined;
      const freed = await this.#guard(async () => set.change(ids));
      this.#releaseSet = set;
      return freed;
    });
    this.#lastMeasure = measured.catch(() => undefined);
    return await measured;
  }

  /**
   * Finds the versions of a path in the snapshots of each host, as `findHistory` does. Yields a version once the next one
   * of its host is found. `path`: an absolute one, as on the machine that was backed up.
   */
  async *versions(path: PathInput, options: ReadVersionsOptions = {}): AsyncGenerator<PathVersion> {
    const { filter = {}, signal = this.#context.signal } = options;
    const caller = { ...this.#context, signal };
    const search = new PathVersions(caller, this.#opened.reader, soughtPath(byteStringOf(path)), options);
    const among = this.snapshots.filter(({ snapshot }) => matchesFilter(snapshot, filter));
    for await (const version of search.among(among)) {
      this.#throwIfClosed();
      yield version;
    }
  }

  /** Whether nothing has been stored, deleted or reclaimed since the repository was opened. Compares names only. */
  async isCurrent(): Promise<boolean> {
    return await this.#guard(async () => isListingCurrent(this.#context.backend, this.#opened.listing));
  }

  /**
   * Says which snapshots are not among them because their manifests cannot be read, or were read from the copies.
   * @internal
   */
  reportLost(): void {
    const { copied, damaged } = this.#found;
    const lost = this.#opened.damage.lostSnapshots.map((id) => [id, lostMessage(id)] as const);
    for (const [snapshotId, reason] of new Map([...copied, ...lost, ...damaged]))
      this.#context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
  }

  /**
   * Returns the error to report for a snapshot that was not found: it may have been deleted.
   * @internal
   */
  async explain(failure: unknown): Promise<unknown> {
    return await explainDeleted(this.#repository.files, failure);
  }

  /** Releases the lock. Reads that are under way fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #guard<T>(read: () => T | Promise<T>): Promise<T> {
    this.#throwIfClosed();
    try {
      return await read();
    } catch (error) {
      throw await this.#repository.explain(error);
    }
  }

  #throwIfClosed(): void {
    if (this.#isClosed) throw new RefusedError('the repository was closed');
    this.#repository.throwIfAborted();
  }
}

/** Opens a repository to read any of its snapshots, such as for a mount. Close it. */
export async function openRepositoryForReading(
  context: OperationContext,
  options: OpenForReadingOptions = {},
): Promise<RepositoryReader> {
  assertArguments<OpenForReadingOptions>(context, options, { cacheBytes: 'number' });
  const reader = await openReader(context, options);
  reader.reportLost();
  return reader;
}

async function openReader(
  context: OperationContext,
  { cacheBytes = DEFAULT_CACHE_BYTES }: OpenForReadingOptions,
): Promise<RepositoryReader> {
  return await new Promise((resolve, reject) => {
    const running = withRepository(context, 'read', async (repository) => {
      repository.shareBlocks(cacheBytes);
      const found = await repository.files.readSnapshots();
      const opened = await repository.openState();
      await new Promise<void>((close) => {
        const end = async (): Promise<void> => {
          close();
          await running;
        };
        resolve(new RepositoryReader({ context, repository, found, opened, end }));
      });
    });
    running.catch(reject);
  });
}

/**
 * Opens one snapshot for reading. Until it is closed, it holds a shared lock, so that a compaction waits.
 * @throws SnapshotNotFoundError
 */
export async function openSnapshot(context: OperationContext, options: OpenSnapshotOptions): Promise<OpenedSnapshot> {
  assertArguments<OpenSnapshotOptions>(context, options, {
    selector: 'path!',
    filter: FILTER_KINDS,
    cacheBytes: 'number',
  });
  const repository = await openReader(context, options);
  try {
    const reader = repository.open(repository.select(options.selector, options.filter));
    const path = bytesOf(parseSelector(options.selector).path);
    return Object.assign(reader, { path, close: async () => repository.close() });
  } catch (error) {
    const explained = await repository.explain(error);
    await repository.close();
    throw explained;
  }
}

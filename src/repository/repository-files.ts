import type { Backend, BackendFile } from '../backend/backend.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, DIRECTORIES, RESERVE_NAME } from '../format/layout.ts';
import type { PackContents } from '../format/pack.ts';
import { prefetch } from '../util/prefetch.ts';
import { inspectConfig } from './config-file.ts';
import type { ConfigProblem } from './config-file.ts';
import { idsOf, listOptional, listRepository, listUnlessMissing } from './listing.ts';
import type { Listing } from './listing.ts';
import { readManifest, readManifestCopy, readSegment } from './manifests.ts';
import type { ReadManifest } from './manifests.ts';
import { readSnapshots } from './read-snapshots.ts';
import type { ReadSnapshots } from './read-snapshots.ts';

/** Reads the small files of a repository, and lists what exists. */
export class RepositoryFiles {
  readonly #backend: Backend;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Lists everything in the repository. */
  async listAll(): Promise<Listing> {
    return await listRepository(this.#backend);
  }

  /** Lists a directory. One that does not exist counts as empty. */
  async list(directory: string): Promise<BackendFile[]> {
    return await listOptional(this.#backend, directory);
  }

  /** Ids of the snapshots that are not deleted. */
  async snapshotIds(): Promise<string[]> {
    return idsOf((await listUnlessMissing(this.#backend, 'snapshots')) ?? []);
  }

  async exists(name: string): Promise<boolean> {
    return (await this.#backend.sizeOf(name)) !== undefined;
  }

  async read(name: string): Promise<Uint8Array> {
    return await this.#backend.read(name);
  }

  /** Reads all snapshots, or all deleted ones that can still be undeleted. */
  async readSnapshots(options: { readonly deleted?: boolean } = {}): Promise<ReadSnapshots> {
    return await readSnapshots(this.#backend, options);
  }

  /** @throws CorruptDataError */
  async readManifest(id: string, options: { readonly deleted?: boolean } = {}): Promise<ReadManifest> {
    return await readManifest(this.#backend, id, options);
  }

  /** @throws CorruptDataError */
  async readManifestCopy(id: string): Promise<ReadManifest> {
    return await readManifestCopy(this.#backend, id);
  }

  /** @throws CorruptDataError */
  async readSegment(id: string): Promise<PackContents[]> {
    return await readSegment(this.#backend, id);
  }

  /** Reads files as many at a time as is useful in this place. See `prefetch`. */
  prefetch<T, R>(items: Iterable<T>, read: (item: T) => Promise<R>): AsyncGenerator<readonly [T, Promise<R>]> {
    return prefetch(items, this.#backend.readsAtOnce, read);
  }

  async inspectConfig(isFinding: (error: unknown) => boolean): Promise<readonly ConfigProblem[]> {
    return (await inspectConfig(this.#backend, isFinding)).problems;
  }

  /** Returns the total size of all files in bytes. */
  async measure(): Promise<number> {
    let sizeBytes = 0;
    const sizes = await this.#backend.sizesOf([CONFIG_NAME, CONFIG_COPY_NAME, RESERVE_NAME]);
    for (const size of sizes.values()) sizeBytes += size;
    for (const directory of DIRECTORIES) {
      for (const file of await this.list(directory)) sizeBytes += file.sizeBytes;
    }
    return sizeBytes;
  }
}

import type { Backend, BackendFile } from '../backend/backend.ts';
import { isNothingThere } from '../backend/repository-exists.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { EPOCH_HEADER_BYTES, epochOfHeader } from '../crypto/envelope.ts';
import type { KeyLabel } from '../crypto/master-key.ts';
import { CorruptDataError } from '../errors.ts';
import { PACK_HEADER_BYTES } from '../format/constants.ts';
import { DIRECTORIES, TOP_FILES, directoriesOf, topFilesOf } from '../format/layout.ts';
import type { RepositoryKind } from '../format/layout.ts';
import { kindOf } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { PackContents } from '../format/pack.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { bothOf, mapConcurrently } from '../util/map-concurrently.ts';
import { prefetch } from '../util/prefetch.ts';
import { committedAfter, readCommitLog } from './commit-log.ts';
import type { CommitLog } from './commit-log.ts';
import { inspectConfig } from './config-file.ts';
import { readCheckpoint } from './checkpoint-file.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { readConfigCopies, readConfigCopy } from './config-copies.ts';
import type { ConfigProblem } from './config-copies.ts';
import { listKeys } from './keys/key-files.ts';
import type { UnusableKey } from './keys/key-files.ts';
import { commitNumbersOf, idsOf, listRepository } from './listing.ts';
import { existingSnapshots, listOptional, namesUnlessMissing, optionalNames } from './own-listing.ts';
import type { Listing } from './listing.ts';
import { decodeManifest, readManifest, readManifestCopy, readSegment } from './manifests.ts';
import type { ReadManifest } from './manifests.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { readSnapshots } from './read-snapshots.ts';
import type { ReadSnapshots, ReadSnapshotsOptions } from './read-snapshots.ts';

type Reads<T, R> = AsyncGenerator<readonly [T, Promise<R>]>;

/** Reads the small files of a repository, and lists what exists. */
export class RepositoryFiles {
  readonly #place: FilePlace & { readonly config: RepositoryConfig };
  /** What the place keeps of files that were removed or replaced. */
  readonly past: Pick<Backend, 'keepsRemoved' | 'oldVersions'>;
  readonly #repositoryId: string;
  readonly #kind: RepositoryKind;

  constructor(place: FilePlace & { readonly config: RepositoryConfig }) {
    this.#place = place;
    this.past = place.backend;
    this.#repositoryId = place.config.repositoryId;
    this.#kind = kindOf(place.config);
  }

  /** Lists everything in the repository. `isExact`: as for `listRepository`. */
  async listAll({ isExact }: { readonly isExact?: boolean } = {}): Promise<Listing> {
    return await listRepository({ ...this.#place, isExact, listsPacks: true });
  }

  /** Lists what is needed to read a snapshot. */
  async listForReading(): Promise<Listing> {
    return await listRepository({ ...this.#place, isForReading: true });
  }

  /** Returns the names of everything in the repository that does not belong to ldm. */
  async foreignNames(listing: Listing): Promise<string[]> {
    return await findForeignNames(this.#place.backend, listing);
  }

  /** Lists the files of ldm in a directory. One that does not exist counts as empty. */
  async list(directory: string): Promise<BackendFile[]> {
    return await listOptional(this.#place.backend, directory);
  }

  /** Ids of the snapshots that are not deleted. */
  async snapshotIds(): Promise<string[]> {
    return idsOf((await namesUnlessMissing(this.#place.backend, 'snapshots')) ?? []);
  }

  /** Returns those of the listed snapshots that exist: see `existingSnapshots`. */
  async existingSnapshots(listedIds: readonly string[]): Promise<ReadonlySet<string>> {
    return await existingSnapshots(this.#place.backend, listedIds);
  }

  async readCommits(): Promise<CommitLog> {
    return await readCommitLog(this.#place, commitNumbersOf(await this.list('index')));
  }

  /** Ids of the snapshots in the commit records after that of a number. They may have been deleted since. */
  async committedAfter(lastCommit: number): Promise<string[]> {
    return await committedAfter(this.#place, lastCommit);
  }

  async exists(name: string): Promise<boolean> {
    return (await this.#place.backend.sizeOf(name)) !== undefined;
  }

  /** Returns those of the files that exist. */
  async whichExist(names: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(names.length === 0 ? [] : (await this.#place.backend.sizesOf(names)).keys());
  }

  /**
   * Returns the bytes of a file of the configuration.
   * @throws CorruptDataError
   */
  async readConfig(name: string): Promise<Uint8Array> {
    return (await readConfigCopy(this.#place.backend, name)).bytes;
  }

  async read(name: string): Promise<Uint8Array> {
    return await this.#place.backend.read(name);
  }

  /**
   * Reads a file whose bytes show whether they are right.
   * @throws CorruptDataError
   */
  async readRight(name: string, isRight: (bytes: Uint8Array) => boolean): Promise<Uint8Array> {
    return await readSurely(this.#place.backend, name, async (from) => {
      const bytes = await from.read(name);
      if (isRight(bytes)) return bytes;
      throw new CorruptDataError(`${name} is damaged`);
    });
  }

  /**
   * Opens and decodes a file that is sealed with a key of its own. Returns undefined if it does not exist.
   * @throws CorruptDataError
   */
  async readSealed<T>(name: string, label: KeyLabel, decode: (bytes: Uint8Array) => T): Promise<T | undefined> {
    const { backend, seals } = this.#place;
    try {
      return await readSurely(backend, name, async (from) => decode(seals.open(label, await from.read(name))));
    } catch (error) {
      if (isNothingThere(error)) return undefined;
      throw error;
    }
  }

  /** Returns the bytes of such a file. */
  seal(label: KeyLabel, bytes: Uint8Array): Uint8Array {
    return this.#place.seals.seal(label, bytes);
  }

  /** Reads all snapshots, or all deleted ones that can still be undeleted. */
  async readSnapshots(options: ReadSnapshotsOptions = {}): Promise<ReadSnapshots> {
    return await readSnapshots(this.#place, options);
  }

  /** @throws CorruptDataError */
  async readManifest(id: string, options: { readonly deleted?: boolean } = {}): Promise<ReadManifest> {
    return await readManifest(this.#place, id, options);
  }

  /**
   * Decodes a manifest as it is stored.
   * @throws CorruptDataError
   */
  decodeManifest(bytes: Uint8Array): Snapshot {
    return decodeManifest(this.#place.seals, bytes);
  }

  /** @throws CorruptDataError */
  async readManifestCopy(id: string): Promise<ReadManifest> {
    return await readManifestCopy(this.#place, id);
  }

  /** Reads and verifies a checkpoint. Returns undefined if it does not exist. */
  async readCheckpoint(name: string, segmentIds: ReadonlySet<string>): Promise<FilterState | undefined> {
    return await readCheckpoint(this.#place, name, segmentIds);
  }

  /** @throws CorruptDataError */
  async readSegment(id: string): Promise<PackContents[]> {
    return await readSegment(this.#place, id);
  }

  /** Reads files as many at a time as is useful in this place, and at most `limit`. See `prefetch`. */
  prefetch<T, R>(items: Iterable<T>, read: (item: T) => Promise<R>, limit: number = Infinity): Reads<T, R> {
    return prefetch(items, Math.min(limit, this.#place.backend.readsAtOnce), read);
  }

  /**
   * Returns the key files of an encrypted repository that cannot be used, and the ids of those that have another master key
   * than the copies of the configuration. That takes no password.
   */
  async inspectKeys(): Promise<{ readonly unusable: readonly UnusableKey[]; readonly unusedIds: readonly string[] }> {
    const { backend, seals } = this.#place;
    if (seals.keys === undefined) return { unusable: [], unusedIds: [] };
    const listing = listKeys(backend, this.#repositoryId);
    const [{ copies }, { keys, unusable }] = await bothOf(readConfigCopies(backend), listing);
    const epochs = new Set(copies.map(({ epoch }) => epoch));
    return { unusable, unusedIds: keys.filter(({ keyEpoch }) => !epochs.has(keyEpoch)).map(({ id }) => id) };
  }

  /** Whether the master key was rotated. */
  get hasEarlierKeys(): boolean {
    return (this.#place.seals.keys?.masterKeys.length ?? 0) > 1;
  }

  /**
   * Returns whether a file of an encrypted repository is sealed under an earlier master key; of a pack, its first block.
   * @throws CorruptDataError
   */
  async isSealedEarlier(name: string): Promise<boolean> {
    const { backend, seals } = this.#place;
    const header = Buffer.alloc(EPOCH_HEADER_BYTES);
    try {
      return await readSurely(backend, name, async (from) => {
        await from.readRange(name, name.startsWith('packs/') ? PACK_HEADER_BYTES : 0, header);
        return seals.keys !== undefined && epochOfHeader(header) < seals.keys.epoch;
      });
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      throw new CorruptDataError(`${name}: ${error.message}`, { advice: { code: 'check-data-and-repair' } });
    }
  }

  async inspectConfig(isFinding: (error: unknown) => boolean): Promise<readonly ConfigProblem[]> {
    const { backend, seals } = this.#place;
    return (await inspectConfig(backend, seals.keys?.masterKeys ?? [], isFinding)).problems;
  }

  /** Returns the total size of all files in bytes, with that of all copies of packs, and the number of packs. */
  async measure(): Promise<Record<'sizeBytes' | 'packCount', number>> {
    const { backend } = this.#place;
    const directories = directoriesOf({ ...this.#kind, isEncrypted: true });
    const [sizes, listings] = await bothOf(
      backend.sizesOf(topFilesOf(this.#kind)),
      mapConcurrently(directories, backend.readsAtOnce, async (directory) => this.list(directory)),
    );
    let sizeBytes = 0;
    for (const size of sizes.values()) sizeBytes += size;
    for (const file of listings.flat()) sizeBytes += file.sizeBytes + (file.copyBytes ?? 0);
    return { sizeBytes, packCount: listings[directories.indexOf('packs')]!.length };
  }
}

/** What `listRepository` does not list. */
const OTHER_DIRECTORIES = ['keys', 'unfinished', 'verified', 'planes', 'holds', 'locks', 'tmp'] as const;

const TOP_NAMES: ReadonlySet<string> = new Set<string>([...DIRECTORIES, ...TOP_FILES]);

/** Returns the names of everything in a repository that does not belong to ldm. */
async function findForeignNames(backend: Backend, listing: Listing): Promise<string[]> {
  const inOthers: string[] = [];
  const [place] = await bothOf(
    backend.examine(),
    mapConcurrently(OTHER_DIRECTORIES, backend.readsAtOnce, async (each) => optionalNames(backend, each, inOthers)),
  );
  return [...(place?.names ?? []).filter((name) => !TOP_NAMES.has(name)), ...listing.foreignNames, ...inOthers];
}

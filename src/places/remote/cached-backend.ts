import { isCheckpointName } from '../../core/format/checkpoint-name.ts';
import { baseName, directoryOf, isId } from '../../core/format/layout.ts';
import type { Backend, BackendFile, CachedRepository, StagedFile, Verify } from '../../core/backend/backend.ts';
import { CACHED_DIRECTORIES, FileCache } from './file-cache.ts';
import type { CacheDraft } from './file-cache.ts';
import { PassingBackend } from '../../core/backend/passing-backend.ts';

export interface CacheOptions {
  /** The caches of all repositories. */
  readonly directory: string;
  readonly maxBytes?: number | undefined;
  /** Called at most once, with the reason, when the cache is turned off. */
  readonly onTrouble?: ((reason: string) => void) | undefined;
}

const MAX_BYTES = 2 * 1024 ** 3;
/** A file is fetched in pieces of this size. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** A pack of this size is fetched whole at once; a larger one when it is read again, since one block may be enough. */
const SMALL_PACK_BYTES = 1024 * 1024;
const READS_BEFORE_FETCH = 3;

/**
 * Keeps copies of what every command reads: segments, manifests, packs of trees, and the newest checkpoint. Their names
 * are never used for other bytes, so a copy is right as long as the file exists, which only a listing of the repository
 * says: a copy is used once this process has listed its directory or written the file itself. A command that
 * reads packs without listing them trusts the segments that name them.
 */
export class CachedBackend extends PassingBackend {
  readonly uncached: Backend;
  readonly #options: CacheOptions;
  #cache: FileCache | undefined;
  /** What has a copy and is known to exist. */
  readonly #usable = new Set<string>();
  #arePacksListed = false;
  /** How many blocks of a pack of trees were to be read. */
  readonly #expected = new Map<string, { readonly sizeBytes: number; reads: number }>();
  /** What was wrong when it was read. A copy of it would be of no use, or wrong as well. */
  readonly #distrusted = new Set<string>();
  /** What was fetched, or is being fetched. None is tried twice. */
  readonly #fetches = new Map<string, Promise<void>>();

  constructor(inner: Backend, options: CacheOptions) {
    super(inner);
    this.uncached = inner;
    this.#options = options;
  }

  useCache({ repositoryId, packHash }: CachedRepository): void {
    const { directory, onTrouble = () => undefined } = this.#options;
    this.#cache ??= new FileCache({ directory, repositoryId, packHash, maxBytes: this.#maxBytes, onTrouble });
  }

  get #maxBytes(): number {
    return this.#options.maxBytes ?? MAX_BYTES;
  }

  expectReads(name: string, sizeBytes: number): void {
    const expected = this.#expected.get(name) ?? { sizeBytes, reads: 0 };
    expected.reads += 1;
    this.#expected.set(name, expected);
  }

  override distrust(name: string): void {
    this.#distrusted.add(cachedNameOf(name));
    this.#forget(cachedNameOf(name));
    super.distrust(name);
  }

  /** Copies of files that are not listed are of no use any more. */
  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    this.#arePacksListed ||= directory === 'packs';
    const cached = new Set(this.#isCachedDirectory(directory) ? this.#cache?.namesIn(directory) : []);
    const present = files.map(({ name }) => cachedNameOf(name)).filter((name) => cached.delete(name));
    for (const name of present) this.#usable.add(name);
    for (const name of cached) this.#forget(name);
    return files;
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    const cached = isCheckpointName(name) ? this.#copyOf(name, (copy) => this.#cache?.sizeOf(copy)) : undefined;
    return cached ?? (await super.sizeOf(name));
  }

  override async read(name: string): Promise<Uint8Array> {
    const cached = this.#copyOf(name, (copy) => this.#cache?.read(copy));
    if (cached !== undefined) return cached;
    const bytes = await super.read(name);
    if (isKeptWhole(name)) this.#keep(name, (copy) => this.#cache?.put(copy, bytes));
    return bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const isRead = (): boolean =>
      this.#copyOf(name, (copy) => (this.#cache?.readRange(copy, offset, target) === true ? true : undefined)) === true;
    if (isRead()) return;
    if (this.#isWorthFetching(name)) {
      await this.#fetch(name);
      if (isRead()) return;
    }
    await super.readRange(name, offset, target);
  }

  override async stage(isReadOften?: boolean): Promise<StagedFile> {
    const file = await super.stage(isReadOften);
    const draft = isReadOften === true ? this.#cache?.create() : undefined;
    if (draft === undefined) return file;
    return {
      append: async (bytes) => {
        draft.append(bytes);
        await file.append(bytes);
      },
      flush: async () => file.flush(),
      publish: async (name, verify, isNew, after) => {
        await file.publish(name, verify, isNew, after).catch((error: unknown) => {
          draft.discard();
          throw error;
        });
        this.#keep(name, (copy) => draft.commit(copy));
      },
      discard: async () => {
        draft.discard();
        await file.discard();
      },
    };
  }

  override async publish(name: string, bytes: Uint8Array, verify?: Verify, after?: Verify): Promise<void> {
    await super.publish(name, bytes, verify, after);
    if (isKeptWhole(name)) this.#keep(name, (copy) => this.#cache?.put(copy, bytes));
  }

  override async move(source: string, target: string): Promise<void> {
    this.#forget(cachedNameOf(source));
    this.#forget(cachedNameOf(target));
    await super.move(source, target);
  }

  override async remove(name: string): Promise<boolean> {
    this.#forget(cachedNameOf(name));
    return await super.remove(name);
  }

  override async close(): Promise<void> {
    this.#cache?.close();
    await super.close();
  }

  #isCachedDirectory(directory: string): boolean {
    return CACHED_DIRECTORIES.some((each) => each === directory);
  }

  /** Reads a copy; if that fails, it is not used again. */
  #copyOf<T>(name: string, read: (cachedName: string) => T | undefined): T | undefined {
    const copy = cachedNameOf(name);
    const isTrusted = !this.#arePacksListed && name.startsWith('packs/') && this.#cache?.has(copy) === true;
    if (!this.#usable.has(copy) && (!isTrusted || this.#distrusted.has(copy))) return undefined;
    const found = read(copy);
    if (found === undefined) this.#forget(copy);
    return found;
  }

  #keep(name: string, write: (cachedName: string) => void): void {
    const copy = cachedNameOf(name);
    if (this.#distrusted.has(copy)) return;
    write(copy);
    if (this.#cache?.has(copy) === true) this.#usable.add(copy);
  }

  #forget(cachedName: string): void {
    if (this.#usable.delete(cachedName) || this.#cache?.has(cachedName) === true) this.#cache?.drop(cachedName);
  }

  #isWorthFetching(name: string): boolean {
    const copy = cachedNameOf(name);
    if (this.#cache === undefined || this.#cache.has(copy) || this.#distrusted.has(copy)) return false;
    if (isCheckpointName(name)) return true;
    const expected = this.#expected.get(name);
    if (expected === undefined) return false;
    return expected.sizeBytes <= SMALL_PACK_BYTES || expected.reads >= READS_BEFORE_FETCH;
  }

  /** Several readers share it. If it fails, they read what they need, and report why that fails. */
  async #fetch(name: string): Promise<void> {
    const fetch = this.#fetches.get(name) ?? this.#fetchAlone(name).catch(() => undefined);
    this.#fetches.set(name, fetch);
    await fetch;
  }

  async #fetchAlone(name: string): Promise<void> {
    const sizeBytes = this.#expected.get(name)?.sizeBytes ?? (await super.sizeOf(name));
    if (sizeBytes === undefined || sizeBytes > this.#maxBytes) return;
    const draft = this.#cache?.create();
    if (draft === undefined) return;
    try {
      await this.#download(name, sizeBytes, draft);
    } catch (error) {
      draft.discard();
      throw error;
    }
    this.#keep(name, (copy) => draft.commit(copy));
  }

  async #download(name: string, sizeBytes: number, draft: CacheDraft): Promise<void> {
    const piece = Buffer.allocUnsafe(Math.min(sizeBytes, PIECE_BYTES));
    for (let offset = 0; offset < sizeBytes; offset += piece.length) {
      const target = piece.subarray(0, Math.min(piece.length, sizeBytes - offset));
      await super.readRange(name, offset, target);
      draft.append(target);
    }
  }
}

/** Packs are in directories of the repository, but not in the cache. */
function cachedNameOf(name: string): string {
  return name.startsWith('packs/') ? `packs/${baseName(name)}` : name;
}

/** Segments and manifests. */
function isKeptWhole(name: string): boolean {
  return isId(baseName(name)) && ['index', 'snapshots'].includes(directoryOf(name));
}

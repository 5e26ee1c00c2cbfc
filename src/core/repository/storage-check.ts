import type { Backend } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { createPackDigest } from '../crypto/pack-digest.ts';
import { readStreamHeader } from '../crypto/stream-seal.ts';
import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import type { ConfigHead } from '../format/config.ts';
import { FILE_ID_BYTES } from '../format/constants.ts';
import { baseName, isCommitName, parseCopyAddress } from '../format/layout.ts';
import { acquireAccess } from './access.ts';
import type { AccessOptions } from './access.ts';
import { inspectConfigHeads } from './config-copies.ts';
import type { ConfigProblem } from './config-copies.ts';
import { listOptional } from './own-listing.ts';
import { placePacks } from './groups/place-packs.ts';
import type { PlacedPacks } from './groups/place-packs.ts';
import type { RepositoryLock } from './locks/lock.ts';

/**
 * The directories with files that can be verified without a key. Snapshots are listed before deleted ones, so that one
 * that is deleted meanwhile is in one of the listings.
 */
export const STORAGE_DIRECTORIES = [
  'keys',
  'condemned',
  'manifests.bak',
  'snapshots',
  'deleted',
  'index',
  'filter',
  'packs',
] as const;
type StorageDirectory = (typeof STORAGE_DIRECTORIES)[number];

export interface StoredFile {
  readonly directory: StorageDirectory;
  readonly name: string;
  readonly sizeBytes: number;
  /** If it is one of several copies of a pack: the name of its group, and the name under which this copy is read. */
  readonly copy?: { readonly group: string; readonly address: string };
}

type Pause = () => Promise<void> | undefined;

/** Large enough for the full speed of a disk. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Verifies stored bytes without a key. Names are digests, so each file shows by itself whether it is as it was written;
 * not whether it should be there, nor whether another one is missing.
 */
export class StorageCheck {
  readonly head: ConfigHead;
  readonly configProblems: readonly ConfigProblem[];
  readonly groups: PlacedPacks['groups'];
  readonly #backend: Backend;
  readonly #lock: RepositoryLock | undefined;
  readonly #piece: Buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);

  private constructor(made: {
    readonly backend: Backend;
    readonly lock: RepositoryLock | undefined;
    readonly head: ConfigHead;
    readonly problems: readonly ConfigProblem[];
    readonly groups: PlacedPacks['groups'];
  }) {
    this.groups = made.groups;
    this.#backend = made.backend;
    this.#lock = made.lock;
    this.head = made.head;
    this.configProblems = made.problems;
  }

  /** `onHead`: called before anything else is read. May throw. */
  static async open(options: AccessOptions, onHead: (head: ConfigHead) => void): Promise<StorageCheck> {
    const { head, problems } = await inspectConfigHeads(options.backend);
    onHead(head);
    const lock = await acquireAccess(options);
    try {
      const placed = await placePacks(options.backend, { ...head, seals: undefined }, options);
      return new StorageCheck({ ...placed, head, problems, lock });
    } catch (error) {
      await lock?.release().catch(() => undefined);
      throw error;
    }
  }

  /** Lists the files of ldm in a directory, and adds the names of others to `foreignNames`. */
  async list(directory: StorageDirectory, foreignNames?: string[]): Promise<StoredFile[]> {
    const own = (await listOptional(this.#backend, directory, foreignNames)).map((file) => ({ ...file, directory }));
    if (directory !== 'packs' || this.groups === undefined) return own;
    const copies: StoredFile[] = [];
    for (const file of own) copies.push(...(await this.#copiesOf(file)));
    return copies;
  }

  async #copiesOf(file: StoredFile): Promise<StoredFile[]> {
    const addresses = (await this.#backend.copiesOf?.(file.name)) ?? [];
    if (addresses.length < 2) return [file];
    const copies: StoredFile[] = [];
    for (const address of addresses) {
      const sizeBytes = (await this.#backend.sizeOf(address)) ?? 0;
      const group = this.groups!.all.find(({ id }) => id === parseCopyAddress(address)!.groupId)!.entry.name;
      copies.push({ ...file, sizeBytes, copy: { group, address } });
    }
    return copies;
  }

  /**
   * Reads a whole file. Returns an error if its bytes are not those that were written, or cannot be read. A file that is
   * gone is whole: another command has removed it since the listing. `pause`: called often, and awaited.
   */
  async problemWith(file: StoredFile, pause: Pause): Promise<Error | undefined> {
    try {
      await readSurely(this.#backend, file.name, async (from) => {
        if (await this.#isWhole(from, file, pause)) return;
        throw new CorruptDataError(`${file.name}: its digest differs from its name`);
      });
      return undefined;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      if (!isDamage(error)) throw error;
      return error;
    }
  }

  async close(): Promise<void> {
    if (this.head.hasGroups) await this.#backend.close();
    await this.#lock?.release();
  }

  async #isWhole(from: Backend, file: StoredFile, pause: Pause): Promise<boolean> {
    const { directory, name, copy } = file;
    // The listing may be wrong, too.
    const sizeBytes = from === this.#backend ? file.sizeBytes : ((await from.sizeOf(copy?.address ?? name)) ?? 0);
    const isCommit = isCommitName(name);
    if (directory !== 'filter' && !isCommit)
      return (await this.#digest(from, file, sizeBytes, pause)) === baseName(name);
    // Their digests are at their ends. If a checkpoint is encrypted, its name and the rest tell nothing without the key.
    const isSealedStream = this.head.isEncrypted && !isCommit;
    const endBytes = isSealedStream ? 0 : FILE_ID_BYTES;
    if (sizeBytes < endBytes) return false;
    if (isSealedStream) {
      await readStreamHeader({ sizeBytes, readRange: async (...range) => from.readRange(name, ...range) });
    }
    const digest = await this.#digest(from, file, sizeBytes - endBytes, pause);
    const end = Buffer.alloc(endBytes);
    await from.readRange(name, sizeBytes - endBytes, end);
    return isSealedStream || digest === end.toString('hex');
  }

  /** Computes the digest of the first bytes of a file. */
  async #digest(
    from: Backend,
    { directory, name, copy }: StoredFile,
    sizeBytes: number,
    pause: Pause,
  ): Promise<string> {
    const digest = createPackDigest(directory === 'packs' ? this.head.packHash : 'sha256');
    for (let offset = 0; offset < sizeBytes; offset += PIECE_BYTES) {
      await pause();
      const piece = this.#piece.subarray(0, Math.min(PIECE_BYTES, sizeBytes - offset));
      await from.readRange(copy?.address ?? name, offset, piece);
      digest.update(piece);
    }
    return digest.end();
  }
}

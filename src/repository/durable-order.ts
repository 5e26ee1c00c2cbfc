import { randomBytes } from 'node:crypto';
import type { Backend, BackendWriter } from '../backend/backend.ts';
import { sha256 } from '../crypto/sha256.ts';
import { isAbsent, isDiskFull } from '../errors.ts';
import { encodeSegment } from '../format/segment.ts';
import type { PackContents } from '../format/pack.ts';
import type { PackFile, PackSink } from '../store/pack-sink.ts';
import { packName } from '../store/pack-reader.ts';
import { repositoryExists } from './config-file.ts';
import {
  RESERVE_BYTES,
  RESERVE_NAME,
  deletedName,
  directoryOf,
  manifestCopyName,
  segmentName,
  snapshotName,
} from './layout.ts';

/**
 * THE order of durable writes; nothing else in ldm writes into, renames in or removes from a repository.
 *
 * - A name appears only by: temporary file, write, length check, fsync, rename; and its directory is fsynced before
 *   anything that relies on the name is written, and before success is reported.
 * - Packs are durable before the segment that names them, the segment before the snapshot.
 * - The copy of a manifest is there only while the manifest is durable in snapshots/ or deleted/.
 * - A pack is removed only when no durable segment and no checkpoint names it any more, and only under an exclusive
 *   lock: names follow from content, so a pack or a segment of this process may be another's as well.
 */
export class DurableOrder implements PackSink {
  readonly #backend: Backend;
  /** Directories with names that are not durable yet. */
  readonly #unsynced = new Set<string>();
  /** What was published here. A new file may have taken the name of an old one that was to go: then it stays. */
  readonly #published = new Set<string>();
  /** Of a directory: the kernel may have dropped the names, and a second fsync would wrongly succeed. */
  #failedSync: { readonly error: unknown } | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** A pack under a temporary name. */
  async create(): Promise<PackFile> {
    const { name, writer } = await this.#createTemporary();
    return {
      writer,
      publish: async (id) => this.#publish(name, writer, packName(id)),
      abort: async () => this.#discard(name, writer),
    };
  }

  /** Names packs, after making them durable. Returns the segment's id; the segment itself is durable on return. */
  async publishSegment(packs: readonly PackContents[]): Promise<string> {
    await this.#barrier();
    const bytes = encodeSegment(packs);
    const id = sha256(bytes);
    await this.#publishBytes(bytes, segmentName(id));
    // When this fails the segment stays: a backup of the same bytes beside this one may rely on it by now.
    await this.#barrier();
    return id;
  }

  /** The commit of a backup. `verify` runs right before it and stops it by throwing. Returns the snapshot's id. */
  async commitSnapshot(bytes: Uint8Array, verify: () => Promise<void>): Promise<string> {
    await this.#barrier();
    const id = sha256(bytes);
    await this.#publishBytes(bytes, snapshotName(id), verify);
    try {
      await this.#barrier();
    } catch (error) {
      // Whether the name would survive a power cut is not known: better no snapshot than one that may vanish.
      await this.#backend.remove(snapshotName(id)).catch(() => false);
      throw error;
    }
    return id;
  }

  /**
   * Second copies of committed manifests, by snapshot id. `verify` runs right before each and stops it by throwing: of a
   * snapshot that others have reclaimed meanwhile a copy would say that it is lost.
   */
  async copyManifests(manifests: ReadonlyMap<string, Uint8Array>, verify: () => Promise<void>): Promise<void> {
    await this.#barrier();
    for (const [id, bytes] of manifests) await this.#publishBytes(bytes, manifestCopyName(id), verify);
    await this.#barrier();
  }

  /** The commit of a delete. */
  async commitDelete(snapshotIds: readonly string[]): Promise<void> {
    for (const id of snapshotIds) await this.#rename(snapshotName(id), deletedName(id));
    await this.#barrier();
  }

  async undoDelete(snapshotIds: readonly string[]): Promise<void> {
    for (const id of snapshotIds) await this.#rename(deletedName(id), snapshotName(id));
    await this.#barrier();
  }

  /** Writes a file piece by piece under its final name, durably. `verify` runs right before the name appears. */
  async publishStream(name: string, write: WriteFile, verify?: () => Promise<void>): Promise<void> {
    const temporary = await this.#writeTemporary(write);
    await this.#publish(temporary.name, temporary.writer, name, verify);
    await this.#barrier();
  }

  async publishFile(name: string, bytes: Uint8Array): Promise<void> {
    await this.publishStream(name, async (append) => append(bytes));
  }

  /** Removes files; durably gone on return. The caller names what nothing durable relies on any more. */
  async remove(names: readonly string[]): Promise<void> {
    await this.#removeAll(names.filter((name) => !this.#published.has(name)));
  }

  /** Takes back what was published here. The caller knows that it was not there before, and that nothing names it. */
  async withdraw(names: readonly string[]): Promise<void> {
    for (const name of names) this.#published.delete(name);
    await this.#removeAll(names);
  }

  /** Sets a damaged file aside; ldm never deletes what it could not read. */
  async quarantine(name: string): Promise<void> {
    if (this.#published.has(name)) return;
    if ((await this.#backend.sizeOf(name)) === undefined) return;
    await this.#rename(name, await this.#freeQuarantineName(name));
    await this.#barrier();
  }

  /** Sets a copy of a damaged file aside, before a file of the same name takes its place. */
  async quarantineCopy(name: string): Promise<void> {
    await this.publishFile(await this.#freeQuarantineName(name), await this.#backend.read(name));
  }

  /** What was set aside earlier is never overwritten. */
  async #freeQuarantineName(name: string): Promise<string> {
    const target = `quarantine/${name.replaceAll('/', '-')}`;
    for (let count = 0; ; count += 1) {
      const free = count === 0 ? target : `${target}.${count}`;
      if ((await this.#backend.sizeOf(free)) === undefined) return free;
    }
  }

  /** Gives up the reserve and the files named, so that a full disk has room for what a reclaim must write first. */
  async makeRoom(names: readonly string[]): Promise<void> {
    await this.#removeAll([RESERVE_NAME, ...names]);
  }

  /** Puts the reserve back; no error if there is no room. */
  async keepReserve(): Promise<void> {
    if ((await this.#backend.sizeOf(RESERVE_NAME)) === RESERVE_BYTES) return;
    try {
      // Random, so that a file system that compresses still sets the space aside.
      await this.publishFile(RESERVE_NAME, randomBytes(RESERVE_BYTES));
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }

  async #publishBytes(bytes: Uint8Array, name: string, verify?: () => Promise<void>): Promise<void> {
    const temporary = await this.#writeTemporary(async (append) => append(bytes));
    await this.#publish(temporary.name, temporary.writer, name, verify);
  }

  async #writeTemporary(write: WriteFile): Promise<{ name: string; writer: BackendWriter }> {
    const temporary = await this.#createTemporary();
    try {
      await write(async (bytes) => temporary.writer.append(bytes));
      return temporary;
    } catch (error) {
      await this.#discard(temporary.name, temporary.writer);
      throw error;
    }
  }

  async #createTemporary(): Promise<{ name: string; writer: BackendWriter }> {
    const name = `tmp/${randomBytes(16).toString('hex')}`;
    return { name, writer: await this.#inDirectory('tmp', async () => this.#backend.create(name)) };
  }

  /** A failed fsync is never tried again on the same file: the kernel may have dropped the bytes. The file goes. */
  async #publish(
    temporaryName: string,
    writer: BackendWriter,
    name: string,
    verify?: () => Promise<void>,
  ): Promise<void> {
    try {
      await writer.sync();
      await writer.close();
      await verify?.();
      await this.#rename(temporaryName, name);
      this.#published.add(name);
    } catch (error) {
      await this.#discard(temporaryName, writer);
      throw error;
    }
  }

  async #rename(source: string, target: string): Promise<void> {
    await this.#inDirectory(directoryOf(target), async () => this.#backend.rename(source, target));
    this.#unsynced.add(directoryOf(target));
    if (!source.startsWith('tmp/')) this.#unsynced.add(directoryOf(source));
  }

  /** A copy of a repository may have lost its empty directories. */
  async #inDirectory<T>(directory: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      // A repository that was moved away or unmounted meanwhile must not begin anew.
      if (!isAbsent(error) || !(await repositoryExists(this.#backend))) throw error;
      await this.#backend.makeDirectory(directory);
      await this.#backend.syncDirectory(directoryOf(directory));
      return await action();
    }
  }

  /** Cleans up after a failure, which is what the caller reports; a second failure here adds nothing to it. */
  async #discard(name: string, writer: BackendWriter): Promise<void> {
    await writer.close().catch(() => undefined);
    await this.#backend.remove(name).catch(() => false);
  }

  async #removeAll(names: readonly string[]): Promise<void> {
    for (const name of names) {
      if (await this.#backend.remove(name)) this.#unsynced.add(directoryOf(name));
    }
    await this.#barrier();
  }

  async #barrier(): Promise<void> {
    if (this.#failedSync !== undefined) throw this.#failedSync.error;
    for (const directory of this.#unsynced) {
      // Before the wait: a name that appears meanwhile may miss this one, and marks the directory again.
      this.#unsynced.delete(directory);
      try {
        await this.#backend.syncDirectory(directory);
      } catch (error) {
        this.#failedSync = { error };
        throw error;
      }
    }
  }
}

/** Gives the bytes of a new file, in as many pieces as it likes. */
type WriteFile = (append: BackendWriter['append']) => Promise<unknown>;

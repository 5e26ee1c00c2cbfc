import type { Backend, BackendFile, Verify } from '../backend/backend.ts';
import { BackendError, isAbsent, isDiskFull, isWriteRefused } from '../errors.ts';
import type { StorageGroup } from '../format/group-list.ts';
import { offlineReasonOf } from './offline-reason.ts';

/**
 * One group of an opened repository. Its place is believed only if the file `group-id` there says that it is this group:
 * an unmounted disk leaves an empty directory, and mounts may be swapped. What is read needs no such check, since names
 * are digests. It is made before and after every listing, whenever something is absent or fails, right before a name
 * appears, and around every barrier.
 *
 * Once the place was not that of the group, the group is offline until the repository is opened again. Then it is never
 * accessed: its errors have the kind `offline`.
 */
export class Group {
  readonly isGroup: boolean = true;
  readonly entry: StorageGroup;
  readonly backend: Backend;
  readonly #repositoryId: string;
  readonly #repository: string;
  #offlineReason: string | undefined;
  #isFull = false;
  /** Why it takes nothing new, although it can be reached and has room. Undefined if it does, as far as is known. */
  writeFailure: string | undefined;
  /** Whether nothing is expected of it any more. */
  isGivenUp = false;
  /** The number of changes so far, and of those that are durable. */
  #changes = 0;
  #durableChanges = 0;
  /** Whether something was moved or removed that is not durable yet. */
  #hasRemoved = false;
  /** The size of all packs as they were listed, and of what was written since. */
  #packBytes = 0;

  /** `location`: that of the repository, for messages. */
  constructor(
    entry: StorageGroup,
    backend: Backend,
    repository: { readonly repositoryId: string; readonly location: string },
  ) {
    this.entry = entry;
    this.backend = backend;
    this.#repositoryId = repository.repositoryId;
    this.#repository = repository.location;
  }

  get id(): string {
    return this.entry.id;
  }

  /** Why the group is offline. Undefined if it is not, as far as is known. */
  get offlineReason(): string | undefined {
    return this.#offlineReason;
  }

  get isOnline(): boolean {
    return this.#offlineReason === undefined;
  }

  /** Whether packs that are nowhere else may be here. */
  get mayHaveMore(): boolean {
    return !this.isOnline && !this.isGivenUp;
  }

  /** From now on, packs that are in no other group count as lost. */
  giveUp(): void {
    this.#offlineReason ??= 'it is given up';
    this.isGivenUp = true;
  }

  /** Whether new packs may be tried here. */
  get isWritable(): boolean {
    return this.isOnline && this.entry.state === 'active' && !this.#isFull && this.writeFailure === undefined;
  }

  /** Whether its capacity leaves room for a pack. How much room its disk has, only a write shows. */
  hasRoomFor(sizeBytes: number): boolean {
    return this.#packBytes + sizeBytes <= (this.entry.capacityBytes ?? Infinity);
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Returns whether the place is that of the group now. */
  async verify(): Promise<boolean> {
    if (!this.isOnline) return false;
    const reason = await offlineReasonOf(this.backend, { repositoryId: this.#repositoryId, groupId: this.id });
    // Another step may have found it offline meanwhile. Then it stays so, whatever was read here.
    this.#offlineReason ??= reason;
    return this.isOnline;
  }

  /** Lists the packs, or the files of another directory of the group. One that does not exist is empty. */
  async list(directory: string): Promise<BackendFile[]> {
    await this.#assertThere();
    const files = await this.run(async (backend) =>
      backend.list(directory).catch((error: unknown) => {
        if (isAbsent(error)) return [];
        throw error;
      }),
    );
    await this.#assertThere();
    if (directory === 'packs') this.#packBytes = files.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
    return files;
  }

  /** Returns undefined only if the group surely lacks the file. */
  async sizeOf(name: string): Promise<number | undefined> {
    const sizeOf = async (): Promise<number | undefined> => this.run(async (backend) => backend.sizeOf(name));
    const sizeBytes = await sizeOf();
    if (sizeBytes !== undefined) return sizeBytes;
    await this.#assertThere();
    // The disk may have been mounted between the first look and the check.
    return await sizeOf();
  }

  /** Returns false only if the group surely lacks the file. `sizeBytes`: of a pack, which makes room for another one. */
  async remove(name: string, sizeBytes = 0): Promise<boolean> {
    await this.#assertThere();
    this.#changes += 1;
    this.#hasRemoved = true;
    const wasThere = await this.run(async (backend) => backend.remove(name));
    await this.#assertThere();
    if (wasThere) {
      this.#isFull = false;
      this.#packBytes -= sizeBytes;
    }
    return wasThere;
  }

  async move(source: string, target: string): Promise<void> {
    await this.#assertThere();
    this.#changes += 1;
    this.#hasRemoved = true;
    await this.run(async (backend) => backend.move(source, target));
  }

  /** Writes a whole file. `verify` runs right before its name appears. */
  async write(name: string, pieces: readonly Uint8Array[], verify?: Verify, isNew?: boolean): Promise<void> {
    // The capacity is that of packs: what is small must not lack copies because of it.
    const sizeBytes = name.startsWith('packs/') ? pieces.reduce((total, piece) => total + piece.length, 0) : 0;
    if (sizeBytes > 0) this.#assertRoom(sizeBytes);
    this.#packBytes += sizeBytes; // Several packs may be under way.
    try {
      await this.#assertThere();
      await this.run(async (backend) => {
        const file = await backend.stage();
        try {
          for (const piece of pieces) await file.append(piece);
        } catch (error) {
          await file.discard();
          throw error;
        }
        const verifyBoth = async (): Promise<void> => {
          await this.#assertThere();
          await verify?.();
          this.#changes += 1;
        };
        await file.publish(name, verifyBoth, isNew);
        // Once more: a barrier that has begun since then may have missed the name.
        this.#changes += 1;
      });
    } catch (error) {
      this.#packBytes -= sizeBytes;
      if (isDiskFull(error)) this.#isFull = true;
      if (isWriteRefused(error)) this.writeFailure = error.message;
      throw error;
    }
  }

  /**
   * Makes durable what was written, moved and removed here. Once that has failed, or the group is offline, every later
   * call fails.
   */
  async barrier(): Promise<void> {
    const changes = this.#changes;
    if (this.#durableChanges === changes) return;
    const hasRemoved = this.#hasRemoved;
    this.#hasRemoved = false;
    try {
      await this.#assertThere();
      await this.backend.barrier();
      await this.#assertThere();
    } catch (error) {
      this.#hasRemoved ||= hasRemoved;
      if (await this.verify()) throw error;
      throw this.notDurableError(error);
    }
    this.#durableChanges = Math.max(this.#durableChanges, changes);
  }

  /**
   * Says that nothing relies on what was written here and is not durable, so that barriers succeed again. Returns false
   * if something was moved or removed, too.
   */
  giveUpChanges(): boolean {
    if (this.#hasRemoved) return false;
    this.#durableChanges = this.#changes;
    return true;
  }

  /** Makes durable what other processes have published in these directories. */
  async settle(directories: readonly string[]): Promise<void> {
    await this.#assertThere();
    await this.run(async (backend) => backend.settle(directories));
    await this.#assertThere();
  }

  /** Runs a step. If it fails because the place is not that of the group now, the error is of the kind `offline`. */
  async run<T>(step: (backend: Backend) => Promise<T>): Promise<T> {
    if (!this.isOnline) throw this.offlineError();
    try {
      return await step(this.backend);
    } catch (error) {
      if (!(error instanceof BackendError) || (await this.verify())) throw error;
      throw this.offlineError(error);
    }
  }

  /** Not of the kind `offline`, which means that something cannot be read. */
  notDurableError(cause?: unknown): BackendError {
    return new BackendError(`${this.#describe()} before what was written to it was durable: ${this.#offlineReason}`, {
      kind: 'other',
      hint: 'Make the group available again, then run the command again.',
      cause,
    });
  }

  offlineError(cause?: unknown): BackendError {
    return new BackendError(`${this.#describe()}: ${this.#offlineReason}`, { kind: 'offline', cause });
  }

  #describe(): string {
    return `repository ${this.#repository}: the group ${this.entry.name} at ${this.entry.place} is offline`;
  }

  #assertRoom(sizeBytes: number): void {
    if (this.hasRoomFor(sizeBytes)) return;
    this.#isFull = true;
    throw new BackendError(`repository ${this.#repository}: the group ${this.entry.name} has reached its capacity`, {
      kind: 'full',
      hint: 'Add another group, or delete snapshots; then run the command again.',
    });
  }

  async #assertThere(): Promise<void> {
    if (!(await this.verify())) throw this.offlineError();
  }
}

import { availableParallelism } from 'node:os';
import type { TargetError } from '../../errors.ts';
import { writeTargetFile } from '../../files/target-file.ts';
import type { FilePlace } from '../../files/target-file.ts';
import type { EntryMetadata } from '../../files/target-metadata.ts';
import { wantedGid, wantedUid } from '../../files/target-policy.ts';
import type { TargetPolicy } from '../../files/target-policy.ts';
import { BufferPool } from '../../store/buffer-pool.ts';
import { packFilesToWrite } from '../../workers/file-lists.ts';
import type { WriteTask } from '../../workers/file-tasks.ts';
import { taskPool } from '../../workers/task-pool.ts';
import type { StartedTask } from '../../workers/task-pool.ts';

/** A longer file is not worth the copy. */
const FILE_BYTES_MAX = 256 * 1024;
const BATCH_BYTES_MAX = 512 * 1024;
/** Some 4 ms of work, beside which the 0.1 ms to hand it over is little. */
const BATCH_FILES_MAX = 64;
/** Each holds a directory open: some systems allow no more than 256 open files. */
const BATCH_ACTIONS_MAX = 16;
/** Being written, or waiting for a thread. */
const BATCHES_MAX: number = 2 * Math.max(2, availableParallelism());

/** A file and who wants to know what became of it. */
export interface FileBehind {
  readonly place: FilePlace;
  readonly metadata: EntryMetadata;
  readonly sizeBytes: number;
  /** With metadata that could not be set. */
  readonly onWritten: (failure: TargetError | undefined) => void;
  /** The file is not there. */
  readonly onFailed: (error: unknown) => void;
}

/** What happens when all files before it are written; `isDropped` where they never will be. */
export type ActionBehind = (isDropped: boolean) => void;

/**
 * Writes small files in other threads: making a file costs 60 us of system calls, which for a tree of small files is
 * most of a restore. Outcomes are told in the order in which the files were added, and only inside of `makeRoom` and
 * `finish`.
 */
export class WriteBehind {
  readonly #policy: TargetPolicy;
  readonly #pool = new BufferPool({ sizeBytesMin: BATCH_BYTES_MAX });
  #open: Batch | undefined;
  readonly #started: Batch[] = [];

  constructor(policy: TargetPolicy) {
    this.#policy = policy;
  }

  /** Whether a file of this size is worth handing to a thread. */
  takes(sizeBytes: number): boolean {
    return sizeBytes <= FILE_BYTES_MAX;
  }

  /** Where the bytes of the next file are to be put. */
  roomFor(sizeBytes: number): Buffer {
    if (this.#open?.hasRoomFor(sizeBytes) === false) this.#start(this.#open);
    this.#open ??= new Batch(this.#pool.take(BATCH_BYTES_MAX));
    return this.#open.roomFor(sizeBytes);
  }

  /** Takes the file whose bytes are where `roomFor` said. */
  add(file: FileBehind): void {
    this.#open!.add(file);
  }

  /** Lets what was added be written while the caller is busy with something longer. */
  start(): void {
    const filling = this.#filling();
    if (filling !== undefined) this.#start(filling);
  }

  /** At once if no file is on its way. */
  after(action: ActionBehind): void {
    const last = this.#filling() ?? this.#started.at(-1);
    if (last === undefined) action(false);
    else last.actions.push(action);
  }

  /** Waits until not too much is on its way. */
  async makeRoom(): Promise<void> {
    if (this.#filling()?.isFullOfActions === true) this.start();
    while (this.#started.length >= BATCHES_MAX || this.#started.at(-1)?.isFullOfActions === true) await this.#settle();
  }

  /** Waits until everything is written. */
  async finish(): Promise<void> {
    this.start();
    while (this.#started.length > 0) await this.#settle();
  }

  /** For a restore that ends early: when it returns, nobody writes any more. */
  async stop(): Promise<void> {
    const filling = this.#filling();
    const dropped = [...this.#started.splice(0), ...(filling === undefined ? [] : [filling])];
    this.#open = undefined;
    await Promise.all(dropped.map(async ({ writing }) => writing?.drop()));
    for (const { actions } of dropped) for (const action of actions) action(true);
  }

  /** A batch is open, and has nothing yet, where a file that was given room could not be read. */
  #filling(): Batch | undefined {
    return this.#open !== undefined && this.#open.files.length > 0 ? this.#open : undefined;
  }

  #start(batch: Batch): void {
    const { setsOwners, ownGroups } = this.#policy;
    const files = batch.files.map(({ place, metadata, sizeBytes }) => {
      const { mode, mtimeSeconds, mtimeNanoseconds } = metadata;
      const owner = { uid: wantedUid(metadata, this.#policy), gid: wantedGid(metadata, this.#policy) };
      return { place, metadata: { ...owner, mode, mtimeSeconds, mtimeNanoseconds }, sizeBytes };
    });
    batch.writing = taskPool.start({
      name: 'write',
      files: packFilesToWrite(files),
      source: batch.buffer.subarray(0, batch.endOffset),
      policy: { setsOwners, ownGroups, makesDevices: false, ownerNames: undefined },
    });
    this.#started.push(batch);
    this.#open = undefined;
  }

  async #settle(): Promise<void> {
    const batch = this.#started[0]!;
    const isWritten = await batch.writing!.settle();
    let offset = 0;
    for (const [index, file] of batch.files.entries()) {
      const endOffset = offset + file.sizeBytes;
      if (isWritten[index] === 1) file.onWritten(undefined);
      else this.#writeAgain(file, batch.buffer.subarray(offset, endOffset));
      offset = endOffset;
    }
    for (let action = batch.actions.shift(); action !== undefined; action = batch.actions.shift()) action(false);
    this.#started.shift();
    this.#pool.give(batch.buffer);
  }

  /** Here, where it gets known why it cannot be written. */
  #writeAgain({ place, metadata, onWritten, onFailed }: FileBehind, bytes: Uint8Array): void {
    let failure: TargetError | undefined;
    try {
      failure = writeTargetFile(place, bytes, metadata, { policy: this.#policy });
    } catch (error) {
      onFailed(error);
      return;
    }
    onWritten(failure);
  }
}

/** Files that one thread writes in one go. */
class Batch {
  readonly buffer: Buffer;
  readonly files: FileBehind[] = [];
  readonly actions: ActionBehind[] = [];
  endOffset = 0;
  writing: StartedTask<WriteTask> | undefined;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  get isFullOfActions(): boolean {
    return this.actions.length >= BATCH_ACTIONS_MAX;
  }

  hasRoomFor(sizeBytes: number): boolean {
    return this.files.length < BATCH_FILES_MAX && this.endOffset + sizeBytes <= this.buffer.length;
  }

  roomFor(sizeBytes: number): Buffer {
    return this.buffer.subarray(this.endOffset, this.endOffset + sizeBytes);
  }

  add(file: FileBehind): void {
    this.files.push(file);
    this.endOffset += file.sizeBytes;
  }
}

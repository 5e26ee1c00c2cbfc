import { isDamage } from '../../core/errors.ts';
import type { TargetError } from '../../core/errors.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import type { OpenEntries, StateReader } from '../../core/repository/state-reader.ts';
import { copyBytes } from '../../core/util/copy-bytes.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import type { BlocksAhead } from './blocks-ahead.ts';
import { PartialFiles } from './partial-files.ts';
import type { PlannedFile } from './planned-file.ts';
import type { FilePart, PlannedBlocks } from './restore-plan.ts';
import type { WriteBehind } from './write-behind.ts';

/** Blocks that are decompressed ahead. A block takes up to 8 MiB of memory. */
const BLOCKS_AHEAD_MAX = 16;

interface ContentWriterOptions {
  readonly reader: StateReader;
  readonly ahead: BlocksAhead;
  readonly behind: WriteBehind<PlannedFile>;
  readonly policy: TargetPolicy;
  readonly sparse: boolean;
  /** How many blocks keep the threads busy. */
  readonly atOnce: number;
  readonly pacer: Pacer;
  /** Waits until a file can be written, unless its directory is lost; returns no promise if it can be now. */
  readonly prepare: (file: PlannedFile) => Promise<void> | undefined;
  /** `failure`: metadata that could not be set. */
  readonly onWritten: (file: PlannedFile, failure: TargetError | undefined) => void;
  /** The file was not written. Called once for a file; may throw to end the restore. */
  readonly onFailed: (file: PlannedFile, error: unknown) => void;
}

/** Reads blocks in the order of a plan, and writes what is in them to the files that need it. */
export class ContentWriter {
  readonly #options: ContentWriterOptions;
  readonly #partial: PartialFiles;
  readonly #neededKeys = new Set<number>();
  /** How often a block was read, with repeated reads of damaged ones. */
  blocksRead = 0;

  constructor(options: ContentWriterOptions) {
    this.#options = options;
    this.#partial = new PartialFiles(options);
  }

  /** The number of different blocks that had to be read. */
  get blocksNeeded(): number {
    return this.#neededKeys.size;
  }

  /** When it returns, the last files may still be with the threads. */
  async write(blocks: PlannedBlocks): Promise<void> {
    const aheadMax = Math.min(2 * this.#options.atOnce, BLOCKS_AHEAD_MAX);
    for (const key of blocks.keys.keys()) this.#neededKeys.add(key);
    this.#options.ahead.follow(blocks);
    for (const file of blocks.empty) await this.#deliver({ file, entries: [], offsets: [] }, undefined);
    const ahead: Promise<OpenEntries | undefined>[] = [];
    for (let block = 0; block < blocks.count; block += 1) {
      while (ahead.length < aheadMax && block + ahead.length < blocks.count) {
        ahead.push(this.#open(block + ahead.length));
      }
      const opened = await ahead.shift();
      for (const part of blocks.partsOf(block)) {
        await this.#deliver(part, opened);
        const pause = this.#options.pacer.pause();
        if (pause !== undefined) await pause;
      }
      opened?.release();
    }
  }

  /** For a restore that ends early: removes the files that are not complete. */
  close(): void {
    this.#partial.abandonAll();
  }

  /** Returns undefined for a damaged block: each of its chunks may have another copy. */
  #open(block: number): Promise<OpenEntries | undefined> {
    this.blocksRead += 1;
    const opening = this.#options.ahead.open(block).catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      return undefined;
    });
    // Another error may end the restore before this one is awaited.
    opening.catch(() => undefined);
    return opening;
  }

  async #deliver(part: FilePart, block: OpenEntries | undefined): Promise<void> {
    const { file } = part;
    if (file.hasFailed) return;
    const preparing = this.#options.prepare(file);
    if (preparing !== undefined) await preparing;
    if (file.directory.isLost) return this.fail(file, undefined);
    let failure: TargetError | undefined;
    try {
      await this.#write(part, block);
      if (file.remainingCount > 0) return;
      if (!this.#partial.isOnDisk(file)) return this.#options.behind.add(file);
      failure = this.#partial.commit(file);
    } catch (error) {
      return this.fail(file, error);
    }
    this.#options.onWritten(file, failure);
  }

  /** Ends a file that cannot be written. `error` is not reported if its directory is lost. */
  fail(file: PlannedFile, error: unknown): void {
    file.hasFailed = true;
    this.#partial.abandon(file);
    this.#options.onFailed(file, error);
  }

  /** Writes a part of a file. If the file is small and complete, it is then in the memory for the threads. */
  async #write(part: FilePart, block: OpenEntries | undefined): Promise<void> {
    const { file, entries } = part;
    const { behind } = this.#options;
    const { sizeBytes } = file;
    const isSmall = file.holes.length === 0 && behind.takes(sizeBytes);
    if (isSmall && entries.length === file.chunkCount) {
      const room = behind.roomFor(sizeBytes);
      await this.#read(part, block, (offset, bytes) => copyBytes(room, bytes, offset));
    } else {
      // The threads can write what they have meanwhile.
      if (!isSmall) behind.start();
      const target = this.#partial.open(file, { isSmall });
      await this.#read(part, block, (offset, bytes) => target.writeAt(offset, bytes));
    }
    file.remainingCount -= entries.length;
    const content = file.remainingCount === 0 ? this.#partial.takeContent(file) : undefined;
    if (content !== undefined) copyBytes(behind.roomFor(sizeBytes), content, 0);
  }

  /**
   * Passes chunks that follow each other in the block and in the file to `write` as one. A file of zeros is one chunk
   * many times: it must be possible to interrupt it.
   */
  async #read(
    { entries, offsets }: FilePart,
    block: OpenEntries | undefined,
    write: (offset: number, bytes: Uint8Array) => void,
  ): Promise<void> {
    let run: Uint8Array | undefined;
    let runOffset = 0;
    for (const [index, entry] of entries.entries()) {
      const reading = this.#bytesOf(block, entry);
      const bytes = reading instanceof Promise ? await reading : reading;
      if (run !== undefined && runOffset + run.length === offsets[index] && isNextTo(run, bytes)) {
        run = new Uint8Array(run.buffer, run.byteOffset, run.length + bytes.length);
        continue;
      }
      if (run !== undefined) {
        write(runOffset, run);
        const pause = this.#options.pacer.pause();
        if (pause !== undefined) await pause;
      }
      [run, runOffset] = [bytes, offsets[index]!];
    }
    if (run !== undefined) write(runOffset, run);
  }

  #bytesOf(block: OpenEntries | undefined, entry: number): Uint8Array | Promise<Uint8Array> {
    try {
      if (block !== undefined) return block.bytesOf(entry);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    this.blocksRead += 1;
    return this.#options.reader.readEntry(entry);
  }
}

function isNextTo(run: Uint8Array, bytes: Uint8Array): boolean {
  return run.buffer === bytes.buffer && run.byteOffset + run.length === bytes.byteOffset;
}

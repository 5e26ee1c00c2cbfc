import type { ArchiveInput } from './archive-input.ts';
import type { DataRun } from './tar-member.ts';

/** What follows a header in an archive. */
interface StoredContent {
  /** In order. Everything between them is a hole. */
  readonly runs: readonly DataRun[];
  /** Of the file, including holes; 0 if the content is only to be skipped. */
  readonly sizeBytes: number;
  /** Bytes in the archive that were not read yet, and of the padding after them. */
  readonly storedBytes: number;
  readonly paddingBytes: number;
}

/** Reads the content of one member from start to end. */
export class TarContent {
  readonly #input: ArchiveInput;
  readonly #runs: readonly DataRun[];
  readonly #sizeBytes: number;
  readonly #paddingBytes: number;
  #leftBytes: number;
  /** The first run that was not read completely, and how much of it was. */
  #runIndex = 0;
  #runBytes = 0;
  #position = 0;

  constructor(input: ArchiveInput, { runs, sizeBytes, storedBytes, paddingBytes }: StoredContent) {
    this.#input = input;
    this.#runs = runs;
    this.#sizeBytes = sizeBytes;
    this.#leftBytes = storedBytes;
    this.#paddingBytes = paddingBytes;
  }

  /** Number of zeros from here to the end of a hole. */
  get zerosAhead(): number {
    const run = this.#runs[this.#runIndex];
    return (run === undefined ? this.#sizeBytes : run.offset + this.#runBytes) - this.#position;
  }

  /** Skips this number of the zeros ahead. */
  skipZeros(lengthBytes: number): void {
    this.#position += lengthBytes;
  }

  /** Fills the target, holes as zeros, unless the content ends before that. Returns the number of bytes. */
  async read(target: Uint8Array): Promise<number> {
    let done = 0;
    while (done < target.length && this.#position < this.#sizeBytes) {
      const hole = this.zerosAhead;
      const lengthBytes = hole > 0 ? hole : this.#runs[this.#runIndex]!.lengthBytes - this.#runBytes;
      const part = target.subarray(done, done + Math.min(target.length - done, lengthBytes));
      if (hole > 0) part.fill(0);
      else await this.#readRun(part);
      this.#position += part.length;
      done += part.length;
    }
    return done;
  }

  /** Skips the rest. `mayLackPadding`: the archive may end right after the content. */
  async finish(mayLackPadding: boolean): Promise<void> {
    await this.#input.skip(this.#leftBytes);
    await this.#input.skip(this.#paddingBytes, mayLackPadding);
  }

  async #readRun(target: Uint8Array): Promise<void> {
    if ((await this.#input.read(target)) < target.length) throw this.#input.truncated();
    this.#leftBytes -= target.length;
    this.#runBytes += target.length;
    if (this.#runBytes < this.#runs[this.#runIndex]!.lengthBytes) return;
    this.#runIndex += 1;
    this.#runBytes = 0;
  }
}

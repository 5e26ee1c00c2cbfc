import type { TargetError } from '../../core/errors.ts';
import { TargetFile } from '../../core/files/target/target-file.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import { copyBytes } from '../../core/util/copy-bytes.ts';
import type { PlannedFile } from './planned-file.ts';

/** The memory for small files of which some chunks are still to be read. Beyond it, they are written piece by piece. */
const MEMORY_BYTES_MAX = 16 * 1024 * 1024;
const OPEN_FILES_MAX = 32;

/** Where the parts of a file go, in any order. */
interface PartialFile {
  writeAt(position: number, bytes: Uint8Array): void;
}

/**
 * Files whose chunks are in several blocks, until they are complete. Small ones are gathered in memory, so that they can
 * be written in one go; the others are written under temporary names.
 */
export class PartialFiles {
  readonly #policy: TargetPolicy;
  readonly #isSparse: boolean;
  readonly #inMemory = new Map<PlannedFile, Buffer>();
  readonly #onDisk = new Map<PlannedFile, TargetFile>();
  /** Those of `#onDisk` that are open, the least recently used one first. */
  readonly #open = new Set<PlannedFile>();
  #memoryBytes = 0;

  constructor({ policy, sparse }: { readonly policy: TargetPolicy; readonly sparse: boolean }) {
    this.#policy = policy;
    this.#isSparse = sparse;
  }

  /** Begins or continues a file. Throws TargetError. */
  open(file: PlannedFile, { isSmall }: { readonly isSmall: boolean }): PartialFile {
    const content = this.#inMemory.get(file) ?? (isSmall ? this.#gather(file) : undefined);
    if (content !== undefined) return { writeAt: (position, bytes) => copyBytes(content, bytes, position) };
    this.#open.delete(file);
    if (this.#open.size >= OPEN_FILES_MAX) this.#restOne();
    this.#open.add(file);
    return this.#onDisk.get(file) ?? this.#create(file);
  }

  #gather(file: PlannedFile): Buffer | undefined {
    const { sizeBytes } = file;
    if (this.#onDisk.has(file) || this.#memoryBytes + sizeBytes > MEMORY_BYTES_MAX) return undefined;
    const content = Buffer.allocUnsafe(sizeBytes);
    this.#memoryBytes += sizeBytes;
    this.#inMemory.set(file, content);
    return content;
  }

  #create(file: PlannedFile): TargetFile {
    // What a patch needs is read again.
    const mode = file.patch === undefined ? file.mode : 0o600;
    const isSparse = this.#isSparse && file.patch === undefined;
    const created = new TargetFile(file, mode, { isSparse, holes: file.holes });
    this.#onDisk.set(file, created);
    if (file.patch === undefined) created.prepare(file.inodeFlags, this.#policy);
    return created;
  }

  #restOne(): void {
    const [oldest] = this.#open;
    this.#open.delete(oldest!);
    this.#onDisk.get(oldest!)?.rest();
  }

  /** Ends a file that was gathered in memory. Returns its content; undefined if it is not in memory. */
  takeContent(file: PlannedFile): Buffer | undefined {
    const content = this.#inMemory.get(file);
    if (content === undefined || !this.#inMemory.delete(file)) return undefined;
    this.#memoryBytes -= content.length;
    return content;
  }

  isOnDisk(file: PlannedFile): boolean {
    return this.#onDisk.has(file);
  }

  /** Ends a file that was written under a temporary name; see `TargetFile.commit`. */
  commit(file: PlannedFile): TargetError | undefined {
    const policy = this.#policy;
    const written = this.#onDisk.get(file)!;
    const { patch } = file;
    const failure = patch === undefined ? written.commit(file, { policy }) : written.commitInto(patch, file, policy);
    this.#onDisk.delete(file);
    this.#open.delete(file);
    return failure;
  }

  /** Discards a partly written file. */
  abandon(file: PlannedFile): void {
    this.takeContent(file);
    this.#onDisk.get(file)?.abandon();
    this.#onDisk.delete(file);
    this.#open.delete(file);
  }

  abandonAll(): void {
    for (const file of [...this.#onDisk.keys(), ...this.#inMemory.keys()]) this.abandon(file);
  }
}

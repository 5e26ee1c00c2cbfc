import type { BackendFile } from '../../src/core/backend/backend.ts';
import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import type { FileWriter } from '../../src/core/backend/publication.ts';
import { parentOf } from './memory-backend.ts';
import { FaultyBackend } from './faulty-backend.ts';

// Each breaks one rule of the order of durable writes on purpose, for the tests that show that the suites notice.

/** The bytes of files are never forced to the disk. */
export class NoFileSync extends FaultyBackend {
  override async create(name: string): Promise<FileWriter> {
    const writer = await super.create(name);
    return {
      append: async (bytes) => writer.append(bytes),
      sync: async () => undefined,
      close: async () => writer.close(),
    };
  }
}

/** The names in some directories are never forced to the disk. */
export class NoDirectorySync extends FaultyBackend {
  readonly #directories: RegExp;

  constructor(inner: FileSystemBackend, directories: RegExp) {
    super(inner);
    this.#directories = directories;
  }

  override async syncDirectory(directory: string): Promise<void> {
    if (!this.#directories.test(directory)) await super.syncDirectory(directory);
  }
}

/** Files are written under their final names, not renamed to them when they are whole. */
export class NoTemporaryFiles extends FaultyBackend {
  override async rename(source: string, target: string): Promise<void> {
    if (!source.startsWith('tmp/')) return super.rename(source, target);
    const bytes = await super.read(source);
    const writer = await super.create(target);
    await writer.append(bytes);
    await writer.sync();
    await writer.close();
    await super.unlink(source);
  }
}

/** Names appear in `late` only after the first has appeared in `early`. */
export class LateNames extends FaultyBackend {
  readonly #late: string;
  readonly #early: string;
  readonly #heldBack: (readonly [string, string])[] = [];

  constructor(inner: FileSystemBackend, directories: { readonly late: string; readonly early: string }) {
    super(inner);
    this.#late = directories.late;
    this.#early = directories.early;
  }

  override async rename(source: string, target: string): Promise<void> {
    if (target.startsWith(this.#late)) {
      await super.makeDirectory(parentOf(target));
      this.#heldBack.push([source, target]);
      return;
    }
    await super.rename(source, target);
    if (!target.startsWith(this.#early)) return;
    for (const [heldSource, heldTarget] of this.#heldBack.splice(0)) await super.rename(heldSource, heldTarget);
  }

  /** The product looks whether its packs are still there, and must not see that they are late. */
  override async sizeOf(name: string): Promise<number | undefined> {
    const held = this.#heldBack.find(([, target]) => target === name);
    return super.sizeOf(held?.[0] ?? name);
  }
}

/** What a compaction removes in one directory it removes last. */
export class LateRemoval extends FaultyBackend {
  readonly #prefix: string;
  readonly #heldBack: string[] = [];

  constructor(inner: FileSystemBackend, prefix: string) {
    super(inner);
    this.#prefix = prefix;
  }

  override async unlink(name: string): Promise<boolean> {
    if (!name.startsWith(this.#prefix)) return super.unlink(name);
    this.#heldBack.push(name);
    return true;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    // The first thing that a compaction does after its removals.
    if (directory === 'tmp') for (const name of this.#heldBack.splice(0)) await super.unlink(name);
    return super.list(directory);
  }
}

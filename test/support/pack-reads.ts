import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { FaultyBackend } from './faulty-backend.ts';
import { kindOfPack } from './pack-kind.ts';

/** A read of a part of a pack. */
export interface PackRead {
  /** Of the chunks in the pack. Undefined if it is damaged. */
  readonly kind: 'data' | 'tree' | undefined;
  /** The pack, and the offset at which the read begins. */
  readonly at: string;
}

/** Calls `before` ahead of each read of a part of a pack. What that throws takes the place of the answer. */
export class PackReads extends FaultyBackend {
  readonly #before: (read: PackRead) => void;
  readonly #kinds = new Map<string, PackRead['kind']>();

  constructor(inner: FileSystemBackend, before: (read: PackRead) => void) {
    super(inner);
    this.#before = before;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    if (name.startsWith('packs/')) this.#before({ kind: await this.#kindOf(name), at: `${name}:${offset}` });
    await super.readRange(name, offset, target);
  }

  async #kindOf(name: string): Promise<PackRead['kind']> {
    if (!this.#kinds.has(name)) {
      // Absent if the repository is not encrypted.
      const [key] = await this.inner.list('keys').catch(() => []);
      const keyFile = key && (await this.read(key.name));
      this.#kinds.set(name, kindOfPack(await this.read(name), keyFile));
    }
    return this.#kinds.get(name);
  }
}

/** The same for contents of files only. */
export function contentReads(inner: FileSystemBackend, before: (at: string) => void): PackReads {
  return new PackReads(inner, ({ kind, at }) => {
    if (kind === 'data') before(at);
  });
}

/** Counts the places in packs of trees at which reads begin. With blocks of one tree each, that is the number of trees. */
export function countTreeReads(inner: FileSystemBackend): {
  readonly backend: PackReads;
  readonly places: Set<string>;
} {
  const places = new Set<string>();
  const backend = new PackReads(inner, ({ kind, at }) => {
    if (kind === 'tree') places.add(at);
  });
  return { backend, places };
}

/** Each chunk is a block of its own. */
export const SINGLE_CHUNKS = { blockRawBytes: 1, packBytes: 1e9, segmentBytes: 1e9 };

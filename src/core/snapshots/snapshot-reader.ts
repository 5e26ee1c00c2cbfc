import { Readable } from 'node:stream';
import { UsageError } from '../errors.ts';
import type { EntryType, TreeEntry } from '../format/tree/tree.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import { findEntry } from '../repository/snapshot-path.ts';
import { readTree } from '../repository/tree-walk.ts';
import type { ByteString, PathInput } from '../util/byte-string.ts';
import { byteStringOf, bytesOf, textOf } from '../util/byte-string.ts';
import { SnapshotFile } from './snapshot-file.ts';
import type { ReadFileOptions, ReadServices } from './snapshot-file.ts';

/**
 * Names an entry of a snapshot: by its path, as text or bytes, or by the entry itself, which saves the search. A path is
 * relative to the root of the snapshot, or absolute as on the machine that was backed up; empty or `/` is the root. The
 * `name` of an entry is a `ByteString`: make a path of it with `nameBytes`, since as text it would be encoded again.
 */
export type EntryInput = PathInput | TreeEntry;

/**
 * Reads the files of a snapshot. Methods may be called at the same time. All of them throw `SnapshotNotFoundError` if a
 * path does not exist, `UsageError` if the entry is of another type, and `CorruptDataError` if the data is damaged and
 * there is no other copy: bytes that are returned are never wrong.
 */
export class SnapshotReader {
  readonly listing: SnapshotListing;
  readonly #services: ReadServices;
  /** The layouts of files that were read by their entries. */
  readonly #files = new WeakMap<TreeEntry, SnapshotFile>();

  /** @internal */
  constructor(services: ReadServices, listing: SnapshotListing) {
    this.#services = services;
    this.listing = listing;
  }

  /** Returns an entry. Of the root only the tree is known: its name is empty, and its mode and times are 0. */
  async stat(path: EntryInput): Promise<TreeEntry> {
    if (typeof path === 'object' && 'type' in path) return path;
    return await this.#services.guard(
      async () => (await findEntry(this.#services.trees.open, this.listing, byteStringOf(path))).entry,
    );
  }

  /** Iterates over the entries of a directory in the byte order of their names. They are decoded one at a time. */
  async *entries(directory: EntryInput = ''): AsyncGenerator<TreeEntry> {
    const { treeId } = await this.#statAs(directory, 'directory');
    const tree = await this.#services.guard(() => readTree(this.#services.opened.reader, treeId!));
    for (let entry = tree.next(); entry !== undefined; entry = tree.next()) yield entry;
  }

  /**
   * Returns up to `limit` entries of a directory from the one with the number `from`, in the byte order of their names.
   * Only these are decoded, so that any page of a directory with a million entries takes about as long.
   */
  async page(directory: EntryInput, { from, limit, type }: PageOptions): Promise<EntryPage> {
    const { treeId } = await this.#statAs(directory, 'directory');
    const tree = await this.#services.guard(() => this.#services.trees.open(treeId!));
    return tree.page(from, limit, type);
  }

  /** Returns the entry with this name in a directory, or undefined if there is none. */
  async lookup(directory: EntryInput, name: ByteString): Promise<TreeEntry | undefined> {
    const { treeId } = await this.#statAs(directory, 'directory');
    const tree = await this.#services.guard(() => this.#services.trees.open(treeId!));
    return tree.find(name)?.decode();
  }

  /** Returns the bytes of the target of a symlink. */
  async readLink(link: EntryInput): Promise<Uint8Array> {
    return bytesOf((await this.#statAs(link, 'symlink')).linkTarget);
  }

  /** Opens a file, to read several ranges of it. There is nothing to close. */
  async openFile(file: EntryInput): Promise<SnapshotFile> {
    const entry = await this.#statAs(file, 'file');
    const known = this.#files.get(entry);
    if (known !== undefined) return known;
    const opened = await this.#services.guard(() => new SnapshotFile(this.#services, entry));
    this.#files.set(entry, opened);
    return opened;
  }

  /** Returns up to `length` bytes of a file from `offset`: fewer only at its end. Reads only the blocks that have them. */
  async readRange(file: EntryInput, offset: number, length: number): Promise<Uint8Array> {
    return await (await this.openFile(file)).read(offset, length);
  }

  /** Streams the content of a file, or a range of it, with backpressure. A failure destroys the stream. */
  readFile(file: EntryInput, options: ReadFileOptions = {}): Readable {
    return Readable.from(this.#pieces(file, options), { objectMode: false });
  }

  async *#pieces(file: EntryInput, options: ReadFileOptions): AsyncGenerator<Uint8Array> {
    yield* (await this.openFile(file)).pieces(options);
  }

  async #statAs(input: EntryInput, type: EntryType): Promise<TreeEntry> {
    const entry = await this.stat(input);
    if (entry.type === type) return entry;
    const name = typeof input === 'object' && 'type' in input ? input.name : byteStringOf(input);
    throw new UsageError(
      `${textOf(name)} in snapshot ${this.listing.id.slice(0, 8)} is a ${entry.type}, not a ${type}`,
    );
  }
}

export interface PageOptions {
  readonly from: number;
  readonly limit: number;
  /** Only entries of this type, which are numbered and counted without the others. */
  readonly type?: EntryType;
}

/** A part of a directory. */
export interface EntryPage {
  readonly entries: readonly TreeEntry[];
  /** How many entries the directory has, or how many of the type. */
  readonly total: number;
}

export interface ListedEntry {
  /** The path inside the snapshot, without a leading slash. */
  readonly path: ByteString;
  readonly entry: TreeEntry;
}

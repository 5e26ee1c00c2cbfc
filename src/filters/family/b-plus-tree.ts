import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Lmdb from 'lmdb';
import { LdmError, UsageError } from '../../core/errors.ts';
import { byteStringFromBytes, bytesOf, type ByteString } from '../../core/util/byte-string.ts';
import { missingPackageError } from '../../core/util/optional-package.ts';
import { decodeIds, encodeIds } from './id-list.ts';
import type { ErasableFilter, MergeableFilter } from './membership-filter.ts';
import { checkSaved } from './saved-filter.ts';

const KEY_BYTES_MAX = 1978;
/** Changes per batch. A batch writes every page that it changes only once. */
const BATCH_CHANGES = 20_000;
const NO_VALUE = Buffer.alloc(0);

interface TreeStatistics {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface BPlusTreeOptions {
  /** Ignored, because the tree grows as needed. */
  readonly capacity?: number;
  /** Parent of its temporary directory; default: the temporary directory of the system. */
  readonly directory?: string;
  /** Changes per batch; default: 20,000. */
  readonly batchChanges?: number;
}

type Database = Lmdb.RootDatabase<Uint8Array, Uint8Array>;

/**
 * The exact baseline on disk: the B+ tree of LMDB (optional package `lmdb`), in its own temporary directory that
 * `close` removes. FPR 0; adding an id twice stores it once. Ids have 1 to 1978 bytes.
 *
 * Nothing is synced to disk, because the tree does not outlive its process: the measurement covers the structure and
 * the page cache of the system. Changes are collected in memory and written in batches; the first batch creates the
 * tree. `save` writes the ids in tree order, and `load` builds a new tree from them.
 *
 * Source: Bayer, McCreight: "Organization and Maintenance of Large Ordered Indexes" (1972); LMDB by Howard Chu.
 */
export class BPlusTreeFilter implements ErasableFilter, MergeableFilter<BPlusTreeFilter> {
  readonly name = 'b-plus-tree';
  readonly #parentDirectory: string;
  readonly #batchChanges: number;
  /** Unwritten changes: true for an id to insert, false for an id to remove. */
  readonly #pending: Map<ByteString, boolean> = new Map();
  #directory: string | undefined;
  #database: Database | undefined;
  #elements = 0;

  private constructor({ directory = tmpdir(), batchChanges = BATCH_CHANGES }: BPlusTreeOptions) {
    this.#parentDirectory = directory;
    this.#batchChanges = batchChanges;
  }

  static forCapacity(options: BPlusTreeOptions = {}): BPlusTreeFilter {
    return new BPlusTreeFilter(options);
  }

  /** @throws MissingPackageError if the package `lmdb` is not installed */
  static assertAvailable(): void {
    loadLmdb();
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array, options: BPlusTreeOptions = {}): BPlusTreeFilter {
    // Check everything before creating a tree, which would have to be closed after an error.
    let last: Uint8Array = NO_VALUE;
    decodeIds('b-plus-tree', bytes, (id) => {
      checkSaved(id.length <= KEY_BYTES_MAX && Buffer.compare(last, id) < 0, 'b-plus-tree', 'its ids are not sorted');
      last = id;
    });
    const filter = new BPlusTreeFilter(options);
    decodeIds('b-plus-tree', bytes, (id) => filter.add(id));
    return filter;
  }

  get elements(): number {
    return this.#elements;
  }

  /**
   * Size of the tree pages on disk in bytes, after writing all changes. The page cache decides how much is in memory.
   */
  get memoryBytes(): number {
    this.#flush();
    if (this.#database === undefined) return 0;
    const statistics = this.#database.getStats() as TreeStatistics;
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = statistics;
    return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
  }

  /** @throws UsageError if the id is empty or longer than 1978 bytes */
  add(id: Uint8Array): void {
    const key = keyOf(id);
    if (this.#isIn(key, id)) return;
    this.#change(key, true);
    this.#elements++;
  }

  has(id: Uint8Array): boolean {
    return this.#isIn(keyOf(id), id);
  }

  delete(id: Uint8Array): boolean {
    const key = keyOf(id);
    if (!this.#isIn(key, id)) return false;
    this.#change(key, false);
    this.#elements--;
    return true;
  }

  merge(other: BPlusTreeFilter): void {
    if (other !== this) for (const id of other.#ids()) this.add(id);
  }

  falsePositiveRate(): number {
    return 0;
  }

  save(): Uint8Array {
    return encodeIds('b-plus-tree', () => this.#ids());
  }

  /** Removes the tree and its directory; the filter is empty afterwards. */
  async close(): Promise<void> {
    const database = this.#database;
    const directory = this.#directory;
    this.#pending.clear();
    this.#elements = 0;
    this.#database = undefined;
    this.#directory = undefined;
    await database?.close();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }

  #isIn(key: ByteString, id: Uint8Array): boolean {
    return this.#pending.get(key) ?? this.#database?.doesExist(id) ?? false;
  }

  #change(key: ByteString, isIn: boolean): void {
    this.#pending.set(key, isIn);
    if (this.#pending.size >= this.#batchChanges) this.#flush();
  }

  /** Returns all ids in byte order. Ids that fit in one batch do not need a tree. */
  #ids(): Iterable<Uint8Array> {
    if (this.#database !== undefined) this.#flush();
    if (this.#database !== undefined) return this.#database.getKeys();
    const keys = [...this.#pending.keys()].filter((key) => this.#pending.get(key) === true);
    return keys.sort().map(bytesOf);
  }

  #flush(): void {
    if (this.#pending.size === 0) return;
    const database = (this.#database ??= this.#openDatabase());
    // In tree order, consecutive changes often affect the same page.
    const keys = [...this.#pending.keys()].sort();
    database.transactionSync(() => {
      for (const key of keys) {
        if (this.#pending.get(key) === true) database.putSync(bytesOf(key), NO_VALUE);
        else database.removeSync(bytesOf(key));
      }
    });
    this.#pending.clear();
  }

  #openDatabase(): Database {
    const lmdb = loadLmdb();
    try {
      this.#directory = mkdtempSync(join(this.#parentDirectory, 'ldm-b-plus-tree-'));
    } catch (cause) {
      throw new LdmError(`cannot create a directory for the B+ tree in ${this.#parentDirectory}`, {
        cause,
        hint: 'Choose another directory with TMPDIR.',
      });
    }
    const options = { keyEncoding: 'binary', encoding: 'binary', noSync: true, noMetaSync: true } as const;
    return lmdb.open({ path: this.#directory, ...options, overlappingSync: false });
  }
}

/** Loaded by the first tree, because the package is optional. */
function loadLmdb(): typeof Lmdb {
  try {
    return createRequire(import.meta.url)('lmdb') as typeof Lmdb;
  } catch (cause) {
    throw missingPackageError('a B+ tree on disk', ['lmdb'], cause);
  }
}

function keyOf(id: Uint8Array): ByteString {
  if (id.length >= 1 && id.length <= KEY_BYTES_MAX) return byteStringFromBytes(id);
  throw new UsageError(`a B+ tree cannot store an id of ${id.length} bytes`, {
    hint: `Use ids of 1 to ${KEY_BYTES_MAX} bytes.`,
  });
}

import { SnapshotNotFoundError, UsageError } from '../../core/errors.ts';
import { isWithin, parentOf } from '../../core/files/paths/root-paths.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { joinPath, textOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { FreedBytes } from '../../core/removing/remove-snapshots.ts';
import type { PathFile, PathTrees, UsageMeter } from './usage-meter.ts';

/** A directory or file in one or several snapshots. */
export interface UsageRow {
  /** The absolute path on the machine that was backed up; the base of the snapshots for everything in them. */
  readonly path: ByteString;
  /** Whether the path is a file, and in none of the snapshots a directory. */
  readonly isFile: boolean;
  /**
   * The size of the files, in each snapshot and under each of their names. Of whole snapshots as one, without a depth, the
   * size that the backups recorded.
   */
  readonly apparentBytes: number;
  /** The stored size of the chunks and trees, each counted once. */
  readonly referencedBytes: number;
  /**
   * What would be freed if the path vanished from these snapshots and everything else stayed: what no other snapshot and
   * no other path needs. What two directories share is in the figures of the directory above them, but in neither of
   * theirs. For a whole snapshot, it is what deleting it would free.
   */
  readonly onlyHere: FreedBytes;
}

/** The figures of a snapshot, or of several as one. */
export interface DiskUsage {
  readonly snapshots: readonly SnapshotListing[];
  /** In the order of their paths, the total first. */
  readonly rows: readonly UsageRow[];
}

export interface UsagePlace {
  readonly listing: SnapshotListing;
  /** Absolute; undefined for the whole snapshot. */
  readonly path: ByteString | undefined;
}

interface SetOptions {
  readonly depth: number;
  /** Whether directories are listed, or only the total. */
  readonly listsDirectories: boolean;
  /** How many files of each directory are listed. */
  readonly largestFiles: number;
}

/** Measures snapshots as one. */
export class UsageOfSet {
  readonly #meter: UsageMeter;
  readonly #places: readonly UsagePlace[];
  readonly #options: SetOptions;
  /** The path that was named, the same in all snapshots; undefined for all of them. */
  readonly #path: ByteString | undefined;
  /**
   * The trees of paths, by the number of their names. A directory may be the base of one snapshot and below that of
   * another one, so the shorter paths are entered first.
   */
  readonly #levels: Map<ByteString, PathTrees>[] = [];
  /** What the named path is where it is no directory. */
  #files: readonly PathFile[] = [];

  constructor(meter: UsageMeter, places: readonly UsagePlace[], options: SetOptions) {
    this.#meter = meter;
    this.#places = places;
    this.#options = options;
    this.#path = places[0]!.path;
    if (places.some(({ path }) => path !== this.#path))
      throw new UsageError('several snapshots can be measured as one only with the same path');
  }

  async measure(): Promise<DiskUsage> {
    const snapshots = this.#places.map(({ listing }) => listing);
    const all = newTrees();
    for (const listing of snapshots) {
      this.#meter.addRoot(all, listing);
      this.#meter.addRoot(this.#treesAt(listing.snapshot.base), listing);
    }
    const rows = this.#path === undefined ? [await this.#totalRow(all)] : [];
    for (let level = 0; level < this.#levels.length; level += 1) {
      for (const [path, trees] of this.#levels[level] ?? []) {
        if (this.#isListed(path)) rows.push(await this.#row(path, trees, path === this.#path ? this.#files : []));
        if (this.#isEntered(path)) rows.push(...(await this.#enter(path, trees)));
      }
      this.#levels[level] = new Map();
    }
    if (rows.length === 0) throw new SnapshotNotFoundError(`no selected snapshot contains ${textOf(this.#path!)}`);
    return { snapshots, rows: sortRows(rows) };
  }

  /** The whole snapshots, whatever their bases are. */
  async #totalRow(all: PathTrees): Promise<UsageRow> {
    const path = this.#commonBase;
    if (this.#options.listsDirectories) return await this.#row(path, all, []);
    const sizes = this.#places.map(({ listing }) => listing.snapshot.summary.totalBytesProcessed);
    const apparentBytes = sizes.reduce((sum, sizeBytes) => sum + sizeBytes, 0);
    const referencedBytes = await this.#meter.measureReferenced(all, []);
    const onlyHere = await this.#meter.measureReleased(all, []);
    return { path, isFile: false, apparentBytes, referencedBytes, onlyHere };
  }

  async #row(path: ByteString, trees: PathTrees, files: readonly PathFile[]): Promise<UsageRow> {
    const meter = this.#meter;
    return {
      path,
      isFile: trees.counts.size === 0,
      apparentBytes: await meter.measureApparent(trees, files),
      referencedBytes: await meter.measureReferenced(trees, files),
      onlyHere: await meter.measureReleased(trees, files),
    };
  }

  /** Adds what is in a directory to the next level. Returns the rows of its files. */
  async #enter(path: ByteString, trees: PathTrees): Promise<UsageRow[]> {
    const meter = this.#meter;
    await meter.enter(trees, (name) => {
      const child = joinPath(path, name);
      return this.#isListed(child) || this.#isEntered(child) ? this.#treesAt(child) : undefined;
    });
    const named = this.#path;
    if (named !== undefined && named !== path && parentOf(named) === path) {
      const name = named.slice(joinPath(path, NO_NAME).length) as ByteString;
      this.#files = (await meter.filesNamed(trees, [name])).get(name) ?? [];
      if (this.#files.length > 0) this.#treesAt(named);
    }
    return await this.#fileRows(path, trees);
  }

  async #fileRows(path: ByteString, trees: PathTrees): Promise<UsageRow[]> {
    const { largestFiles } = this.#options;
    if (largestFiles === 0 || (this.#path !== undefined && !isWithin(path, this.#path))) return [];
    const rows: UsageRow[] = [];
    const names = await this.#meter.largestFiles(trees, largestFiles);
    for (const [name, files] of await this.#meter.filesNamed(trees, names)) {
      const file = joinPath(path, name);
      if (this.#isListed(file)) rows.push(await this.#row(file, newTrees(), files));
    }
    return rows;
  }

  #isListed(path: ByteString): boolean {
    const { depth } = this.#options;
    if (this.#path !== undefined) return isWithin(path, this.#path) && levelsBelow(path, this.#path) <= depth;
    return this.#options.listsDirectories && path !== this.#commonBase && this.#depthOf(path) <= depth;
  }

  #isEntered(path: ByteString): boolean {
    const { depth } = this.#options;
    if (this.#path !== undefined && isWithin(this.#path, path)) return path !== this.#path || depth > 0;
    if (this.#path !== undefined) return isWithin(path, this.#path) && levelsBelow(path, this.#path) < depth;
    return this.#options.listsDirectories && this.#depthOf(path) < depth;
  }

  /** The directory that contains all snapshots, under which the total is listed. */
  get #commonBase(): ByteString {
    return this.#places.map(({ listing }) => listing.snapshot.base).reduce(commonDirectory);
  }

  /** The number of levels below a path that was backed up; -1 above all of them. */
  #depthOf(path: ByteString): number {
    let depth = Infinity;
    for (const { listing } of this.#places)
      for (const root of listing.snapshot.paths)
        if (isWithin(path, root)) depth = Math.min(depth, levelsBelow(path, root));
    return depth === Infinity ? -1 : depth;
  }

  #treesAt(path: ByteString): PathTrees {
    const level = levelOf(path);
    const paths = (this.#levels[level] ??= new Map());
    const trees = paths.get(path) ?? newTrees();
    paths.set(path, trees);
    return trees;
  }
}

const NO_NAME = '' as ByteString;

function newTrees(): PathTrees {
  return { counts: new Map(), released: new Map() };
}

/** How many levels a path is below a directory that contains it. */
function levelsBelow(path: ByteString, directory: ByteString): number {
  return levelOf(path) - levelOf(directory);
}

function levelOf(path: ByteString): number {
  return path.split('/').filter((name) => name !== '').length;
}

function commonDirectory(one: ByteString, other: ByteString): ByteString {
  let common = one;
  while (!isWithin(other, common)) common = parentOf(common);
  return common;
}

/** In the order of a walk: a directory, then what is in it. */
function sortRows(rows: readonly UsageRow[]): UsageRow[] {
  const keyOf = ({ path }: UsageRow): string => path.replaceAll('/', '\0');
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
}

import { lstatSync, opendirSync, statSync } from 'node:fs';
import type { Dir, Dirent, Stats } from 'node:fs';
import { errnoOf } from '../../core/files/paths/path-failures.ts';
import { typeOfMode } from '../../core/files/source/status-fields.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { fsPath, joinPath } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { Progress } from '../../core/session/progress.ts';
import { Exclusion, isElsewhere } from '../../core/sources/exclusion.ts';
import type { DirectoryRules, ExclusionOptions } from '../../core/sources/exclusion.ts';
import type { ParentSnapshot } from '../../core/sources/parent-snapshot.ts';
import type { SourcePlan } from '../../core/sources/source-plan.ts';

/** The scan blocks the event loop for at most this long, and then pauses for `PAUSE_MS`. */
const SLICE_MS = 0.5;
const PAUSE_MS = 1;
/** The system accepts no longer paths, and each level below would cost as much memory as all levels above. */
const PATH_BYTES_MAX = 4096;

/** The sources to count: everything that the backup saves, and copies of the repository. */
interface ScanScope {
  readonly plan: SourcePlan;
  readonly excluded: ExclusionOptions;
  /** The path of the repository if it is a directory of this machine. */
  readonly repositoryPlace: string | undefined;
}

/**
 * Sets the totals of the progress. The totals of a parent snapshot with the same paths are close enough; without one,
 * the sources are counted if the progress is shown.
 */
export function announceTotals(
  progress: Progress | undefined,
  parent: ParentSnapshot | undefined,
  scope: ScanScope,
): SourceScan | undefined {
  if (progress === undefined) return undefined;
  const summary = parent?.summary;
  if (summary === undefined) return progress.isShown ? new SourceScan(scope, progress) : undefined;
  progress.filesTotal = summary.totalFilesProcessed;
  progress.bytesTotal = summary.totalBytesProcessed;
  return undefined;
}

/** A directory to count. */
interface Place {
  readonly location: ByteString;
  /** Relative to the common parent of the roots. */
  readonly path: PathNode;
  /** Whether it is a root. */
  readonly isRoot: boolean;
  readonly device: bigint;
  /** The rules for the directory itself. */
  readonly outer: DirectoryRules | undefined;
}

interface OpenPlace {
  readonly place: Place;
  readonly names: Dir;
  readonly rules: DirectoryRules | undefined;
}

/** A directory whose names are not known yet: each file that matters is looked for. */
const ANY_NAME = { includes: () => true };

/**
 * Counts the files of a backup while it runs, so that its progress has totals. It works while the main thread
 * waits for other threads, so it does not slow the backup down. It skips what it cannot read: the backup reports that.
 */
class SourceScan {
  /** Separate from the backup's exclusion, which records which patterns match anything. */
  readonly #exclusion: Exclusion;
  readonly #repository: Stats | undefined;
  readonly #progress: Progress;
  readonly #directories: Place[] = [];
  /** Read name by name: the names of a huge directory would take too much memory. */
  #open: OpenPlace | undefined;
  #timer: NodeJS.Timeout | undefined;
  #fileCount = 0;
  #bytes = 0;

  constructor({ plan, excluded, repositoryPlace }: ScanScope, progress: Progress) {
    const { base, roots, followed } = plan;
    this.#exclusion = new Exclusion(excluded, base);
    this.#repository = repositoryPlace === undefined ? undefined : readable(() => statSync(repositoryPlace));
    this.#progress = progress;
    for (const root of roots) {
      const location = followed.get(root) ?? root;
      const name = root.slice(base === '/' ? 1 : base.length + 1) as ByteString;
      const path = { parent: undefined, name };
      readable(() => this.#count({ location, path, isRoot: true, outer: undefined }, statSync(fsPath(location))));
    }
    this.#continueLater();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#close();
  }

  #continueLater(): void {
    this.#timer = setTimeout(() => this.#runSlice(), PAUSE_MS);
  }

  #runSlice(): void {
    const endMs = performance.now() + SLICE_MS;
    while (performance.now() < endMs) {
      if (this.#open === undefined && this.#directories.length === 0) return this.#announce();
      if (this.#open === undefined) readable(() => this.#openNext());
      else this.#countNext(this.#open);
    }
    this.#continueLater();
  }

  #announce(): void {
    this.#progress.filesTotal = this.#fileCount;
    this.#progress.bytesTotal = this.#bytes;
  }

  #openNext(): void {
    const place = this.#directories.pop()!;
    const { location, path, device, isRoot, outer } = place;
    const names = opendirSync(fsPath(location), { encoding: 'latin1' as BufferEncoding });
    const root = isRoot ? location : undefined;
    const entered = { name: path.name, prefix: location, names: ANY_NAME, root, device };
    this.#open = { place, names, rules: this.#exclusion.enter(outer, entered) };
  }

  #countNext({ place, names, rules }: OpenPlace): void {
    const name = readable((): Dirent | null => names.readSync())?.name as ByteString | undefined;
    if (name === undefined) return this.#close();
    const path = { parent: place.path, name };
    if (this.#exclusion.excludesName(rules, path) !== undefined) return;
    const child = { location: joinPath(place.location, name), path, isRoot: false, outer: rules };
    readable(() => this.#count(child, lstatSync(fsPath(child.location))));
  }

  #count(place: Omit<Place, 'device'>, stats: Stats): void {
    const type = typeOfMode(stats.mode);
    const entry = { type, sizeBytes: stats.size };
    const { outer, location } = place;
    if (!place.isRoot && this.#exclusion.excludes(outer, place.path.name, entry, location) !== undefined) return;
    if (type === 'file') {
      this.#fileCount += 1;
      this.#bytes += stats.size;
    } else if (type === 'directory' && location.length < PATH_BYTES_MAX) {
      const device = BigInt(stats.dev);
      const isRepository = stats.ino === this.#repository?.ino && stats.dev === this.#repository.dev;
      if (!isRepository && !isElsewhere(outer, device)) this.#directories.push({ ...place, device });
    }
  }

  #close(): void {
    this.#open?.names.closeSync();
    this.#open = undefined;
  }
}

/** Returns undefined if the system call fails. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

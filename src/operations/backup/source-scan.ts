import { lstatSync, opendirSync, statSync } from 'node:fs';
import type { Dir, Dirent, Stats } from 'node:fs';
import { errnoOf } from '../../files/path-failures.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath, joinPath } from '../../util/byte-string.ts';
import type { PathNode } from '../../util/path-node.ts';
import type { Progress } from '../context.ts';
import { Exclusion } from './exclusion.ts';
import type { ParentSnapshot } from './parent-snapshot.ts';
import type { SourcePlan } from './source-plan.ts';

/** How long the scan may hold up the event loop, and how long it then leaves it alone. */
const SLICE_MS = 0.5;
const PAUSE_MS = 1;
/** The system takes no longer path, and each level below would cost as much memory as all above it. */
const PATH_BYTES_MAX = 4096;

/** What a scan counts: what the backup beside it saves, except for copies of the repository, which it counts. */
export interface ScanScope {
  readonly plan: SourcePlan;
  /** Exclude patterns. */
  readonly excluded: readonly string[];
  readonly repositoryLocation: string;
}

/** The sources are mostly as large as they were. Only a first backup has to count them, and only if it is watched. */
export function announceTotals(
  progress: Progress | undefined,
  parent: ParentSnapshot | undefined,
  scope: ScanScope,
): SourceScan | undefined {
  if (progress === undefined) return undefined;
  if (parent === undefined) return progress.isShown ? new SourceScan(scope, progress) : undefined;
  progress.filesTotal = parent.summary.totalFilesProcessed;
  progress.bytesTotal = parent.summary.totalBytesProcessed;
  return undefined;
}

/** Something to be counted: where it is, and its path relative to the common parent of the roots. */
interface Place {
  readonly location: ByteString;
  readonly path: PathNode;
}

/**
 * Counts the files of a first backup beside it, so that its progress has totals. It works while the main thread waits
 * for others, so that the backup takes no longer. What cannot be read is not counted: the backup itself reports that.
 */
class SourceScan {
  /** Not that of the backup, which finds out which patterns match anything. */
  readonly #exclusion: Exclusion;
  readonly #repository: Stats | undefined;
  readonly #progress: Progress;
  readonly #directories: Place[] = [];
  /** Read name by name: the names of a huge directory would take too much memory. */
  #open: { readonly place: Place; readonly names: Dir } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #fileCount = 0;
  #bytes = 0;

  constructor({ plan, excluded, repositoryLocation }: ScanScope, progress: Progress) {
    const { base, roots, followed } = plan;
    this.#exclusion = new Exclusion(excluded, base);
    this.#repository = readable(() => statSync(repositoryLocation));
    this.#progress = progress;
    for (const root of roots) {
      const location = followed.get(root) ?? root;
      const name = root.slice(base === '/' ? 1 : base.length + 1) as ByteString;
      readable(() => this.#count({ location, path: { parent: undefined, name } }, statSync(fsPath(location))));
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
      else this.#countNext(this.#open.place, this.#open.names);
    }
    this.#continueLater();
  }

  #announce(): void {
    this.#progress.filesTotal = this.#fileCount;
    this.#progress.bytesTotal = this.#bytes;
  }

  #openNext(): void {
    const place = this.#directories.pop()!;
    const names = opendirSync(fsPath(place.location), { encoding: 'latin1' as BufferEncoding });
    this.#open = { place, names };
  }

  #countNext({ location, path }: Place, names: Dir): void {
    const name = readable((): Dirent | null => names.readSync())?.name as ByteString | undefined;
    if (name === undefined) return this.#close();
    const child = { location: joinPath(location, name), path: { parent: path, name } };
    if (!this.#exclusion.isExcluded(child.path)) readable(() => this.#count(child, lstatSync(fsPath(child.location))));
  }

  #count(place: Place, stats: Stats): void {
    if (stats.isFile()) {
      this.#fileCount += 1;
      this.#bytes += stats.size;
    } else if (stats.isDirectory() && place.location.length < PATH_BYTES_MAX) {
      const isRepository = stats.ino === this.#repository?.ino && stats.dev === this.#repository.dev;
      if (!isRepository) this.#directories.push(place);
    }
  }

  #close(): void {
    this.#open?.names.closeSync();
    this.#open = undefined;
  }
}

/** Undefined where the system says no. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

import { lstatSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { SourceError } from '../../core/errors.ts';
import { errnoOf } from '../../core/files/paths/path-failures.ts';
import { packNames } from '../../core/files/source/name-list.ts';
import type { Names } from '../../core/files/source/name-list.ts';
import { listNames } from '../../core/files/source/source-files.ts';
import { typeOfMode } from '../../core/files/source/status-fields.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { fsPath, joinPath } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { Exclusion, isElsewhere } from '../../core/sources/exclusion.ts';
import type { DirectoryRules, ExclusionOptions } from '../../core/sources/exclusion.ts';
import type { SourcePlan } from '../../core/sources/source-plan.ts';

/** The system accepts no longer paths, and each level below would cost as much memory as all levels above. */
const PATH_BYTES_MAX = 4096;

/** What to count: everything that a backup saves, and copies of the repository. It can be sent to a thread. */
export interface CountScope {
  readonly plan: Pick<SourcePlan, 'base' | 'roots' | 'followed'>;
  readonly excluded: ExclusionOptions;
  /** The path of the repository if it is a directory of this machine. */
  readonly repositoryPlace: string | undefined;
}

export interface SourceTotals {
  readonly fileCount: number;
  readonly bytes: number;
}

/**
 * Counts the files that a backup will save, by the same rules. Skips what it cannot read: the backup reports that.
 * Returns undefined if it was stopped.
 */
export function countSources(scope: CountScope, isStopped: () => boolean): SourceTotals | undefined {
  return new SourceCount(scope).run(isStopped);
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
  readonly names: Names;
  readonly rules: DirectoryRules | undefined;
  position: number;
}

class SourceCount {
  readonly #exclusion: Exclusion;
  readonly #repository: Stats | undefined;
  readonly #directories: Place[] = [];
  #open: OpenPlace | undefined;
  #fileCount = 0;
  #bytes = 0;

  constructor({ plan, excluded, repositoryPlace }: CountScope) {
    const { base, roots, followed } = plan;
    this.#exclusion = new Exclusion(excluded, base);
    this.#repository = repositoryPlace === undefined ? undefined : readable(() => statSync(repositoryPlace));
    for (const root of roots) {
      const location = followed.get(root) ?? root;
      const name = root.slice(base === '/' ? 1 : base.length + 1) as ByteString;
      const path = { parent: undefined, name };
      readable(() => this.#count({ location, path, isRoot: true, outer: undefined }, statSync(fsPath(location))));
    }
  }

  run(isStopped: () => boolean): SourceTotals | undefined {
    while (!isStopped()) {
      if (this.#open !== undefined) this.#countNext(this.#open);
      else if (this.#directories.length > 0) readable(() => this.#openNext());
      else return { fileCount: this.#fileCount, bytes: this.#bytes };
    }
    return undefined;
  }

  #openNext(): void {
    const place = this.#directories.pop()!;
    const { location, path, device, isRoot, outer } = place;
    const names = packNames(listNames(location));
    const root = isRoot ? location : undefined;
    const entered = { name: path.name, prefix: location, names, root, device };
    this.#open = { place, names, rules: this.#exclusion.enter(outer, entered), position: 0 };
  }

  #countNext(open: OpenPlace): void {
    const { place, names, rules } = open;
    const name = names.at(open.position);
    open.position += 1;
    if (name === undefined) {
      this.#open = undefined;
      return;
    }
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
}

/** Returns undefined if the system call fails. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SourceError || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

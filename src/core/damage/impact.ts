import { isDamage } from '../errors.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { StateReader } from '../repository/state-reader.ts';
import { walkSnapshot } from '../repository/tree-walk.ts';
import type { TreeStep } from '../repository/tree-walk.ts';
import { shownPathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';
import { EntrySet } from '../snapshots/live-walk.ts';
import type { AffectedPath, Impact } from '../session/findings.ts';

/** The paths listed for each chunk. The total number is reported as well. */
const PATHS_MAX = 200;

/**
 * Steps in directories that have occurred before in the same snapshot. A few trees that refer to each other often enough
 * are 10^9 paths, so after this many steps no further occurrence is visited, and the counts are too low.
 */
const REPEATED_STEPS_MAX = 100_000;

/** A directory whose entries are being visited, and whether there is damage below it. */
interface OpenDirectory {
  /** Of its tree, in the filter. */
  readonly entry: number;
  /** Whether it, or a directory around it, has occurred before in this snapshot. */
  readonly isRepeated: boolean;
  isHit: boolean;
}

/** Where to search. */
export interface SearchPlace {
  readonly state: FilterState;
  readonly reader: StateReader;
  /** The root trees by snapshot id. */
  readonly snapshots: ReadonlyMap<string, { readonly tree: Uint8Array }>;
}

/**
 * Walks snapshots and finds, for each damaged chunk, the snapshots and files that need it. `damaged` are hex ids
 * of unreadable chunks. `problemOf` returns the name of any other problem of a file; pass that name to `of` like a
 * chunk id.
 */
export class ImpactSearch {
  readonly #place: SearchPlace;
  readonly #damaged: ReadonlySet<string>;
  /** Trees without any damage below them. */
  readonly #clean = new EntrySet();
  #repeatedStepsLeft = REPEATED_STEPS_MAX;
  readonly #hits = new Map<string, { snapshots: Set<string>; paths: AffectedPath[]; pathCount: number }>();

  readonly #problemOf: (file: TreeEntry) => string | undefined;
  readonly #pathsMax: number;

  constructor(
    place: SearchPlace,
    damaged: ReadonlySet<string>,
    problemOf: (file: TreeEntry) => string | undefined = () => undefined,
    pathsMax: number = PATHS_MAX,
  ) {
    this.#pathsMax = pathsMax;
    this.#place = place;
    this.#damaged = damaged;
    this.#problemOf = problemOf;
  }

  async run(): Promise<void> {
    for (const [snapshot, { tree }] of this.#place.snapshots) await this.#walk(snapshot, tree);
  }

  /** Returns whether one of the snapshots needs this chunk. */
  isNeeded(chunk: string): boolean {
    return this.#hits.has(chunk);
  }

  /** Returns the snapshots and files affected by any of these chunks or problems. */
  of(chunks: Iterable<string>): Impact {
    const snapshots = new Set<string>();
    const paths = new Map<string, AffectedPath>();
    let pathCount = 0;
    for (const chunk of chunks) {
      const hit = this.#hits.get(chunk);
      if (hit === undefined) continue;
      for (const snapshot of hit.snapshots) snapshots.add(snapshot);
      for (const path of hit.paths) paths.set(`${path.snapshot}:${path.path}`, path);
      pathCount += hit.pathCount;
    }
    const order = new Map([...snapshots].map((snapshot, index) => [snapshot, index]));
    const inOrder = (a: AffectedPath, b: AffectedPath): number =>
      order.get(a.snapshot)! - order.get(b.snapshot)! || (a.path < b.path ? -1 : 1);
    const shown = [...paths.values()].toSorted(inOrder).slice(0, this.#pathsMax);
    return { snapshots: [...snapshots], paths: shown, pathCount: paths.size > this.#pathsMax ? pathCount : paths.size };
  }

  async #walk(snapshot: string, root: Uint8Array): Promise<void> {
    /** The directories around the current step. */
    const open: OpenDirectory[] = [];
    const seen = new EntrySet();
    const walk = walkSnapshot(this.#place.reader, root);
    for (let step = await walk.next(); step !== undefined; step = await walk.next()) {
      const isInRepeated = open.at(-1)?.isRepeated === true;
      if (isInRepeated) this.#repeatedStepsLeft -= 1;
      if (step.kind === 'leave') {
        const { entry, isHit } = open.pop()!;
        if (isHit) noteHit(open);
        else this.#clean.add(entry);
      } else if (step.kind === 'entry') {
        if (this.#noteFile(snapshot, step)) noteHit(open);
      } else if (step.kind === 'unreadable' || this.#damaged.has(hex(step.entry.treeId!))) {
        if (step.kind === 'enter') walk.skip();
        else if (!isDamage(step.error)) throw step.error;
        this.#note(hex(step.entry.treeId!), snapshot, step);
        noteHit(open);
      } else {
        const entry = this.#place.state.filter.find(step.entry.treeId!, 0);
        const isRepeated = !seen.add(entry) || isInRepeated;
        if (this.#clean.has(entry)) walk.skip();
        else if (isRepeated && this.#repeatedStepsLeft <= 0) {
          walk.skip();
          noteHit(open);
        } else open.push({ entry, isRepeated, isHit: false });
      }
    }
  }

  #noteFile(snapshot: string, step: TreeStep): boolean {
    const { type, chunkIds } = step.entry;
    const problem = type === 'file' ? this.#problemOf(step.entry) : undefined;
    let isHit = problem !== undefined;
    if (problem !== undefined) this.#note(problem, snapshot, step);
    for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES) {
      const id = hex(chunkIds.subarray(offset, offset + CHUNK_ID_BYTES));
      if (!this.#damaged.has(id)) continue;
      isHit = true;
      this.#note(id, snapshot, step);
    }
    return isHit;
  }

  #note(chunk: string, snapshot: string, place: PathNode): void {
    const hit = this.#hits.get(chunk) ?? { snapshots: new Set(), paths: [], pathCount: 0 };
    this.#hits.set(chunk, hit);
    hit.snapshots.add(snapshot);
    hit.pathCount += 1;
    if (hit.paths.length < this.#pathsMax) hit.paths.push({ snapshot, path: shownPathOf(place) });
  }
}

/** Records that there is damage in the current directory. */
function noteHit(open: readonly OpenDirectory[]): void {
  const directory = open.at(-1);
  if (directory !== undefined) directory.isHit = true;
}

function hex(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex');
}

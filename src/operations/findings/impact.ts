import { isDamage } from '../../errors.ts';
import { CHUNK_ID_BYTES } from '../../format/constants.ts';
import { TreeReader } from '../../format/tree.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { FilterState } from '../../ldm/filter-state.ts';
import type { StateReader } from '../../repository/state-reader.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { shownPathOf } from '../../util/path-node.ts';
import type { PathNode } from '../../util/path-node.ts';
import { EntrySet } from '../live-walk.ts';
import type { AffectedPath, Impact } from './findings.ts';

/** The paths listed for each chunk. The total number is reported as well. */
const PATHS_MAX = 200;

/** The name of the root tree is empty. */
interface OpenTree extends PathNode {
  readonly entry: number;
  readonly children: TreeReader;
  isHit: boolean;
}

/**
 * Walks every snapshot and finds, for each damaged chunk, the snapshots and files that need it. `damaged` are hex ids
 * of unreadable chunks. `problemOf` returns the name of any other problem of a file; pass that name to `of` like a
 * chunk id.
 */
export class ImpactSearch {
  readonly #state: FilterState;
  readonly #reader: StateReader;
  readonly #damaged: ReadonlySet<string>;
  /** Trees without any damage below them. */
  readonly #clean = new EntrySet();
  readonly #hits = new Map<string, { snapshots: Set<string>; paths: AffectedPath[]; pathCount: number }>();

  readonly #problemOf: (file: TreeEntry) => string | undefined;

  constructor(
    state: FilterState,
    reader: StateReader,
    damaged: ReadonlySet<string>,
    problemOf: (file: TreeEntry) => string | undefined = () => undefined,
  ) {
    this.#state = state;
    this.#reader = reader;
    this.#damaged = damaged;
    this.#problemOf = problemOf;
  }

  async run(): Promise<void> {
    for (const [snapshot, { tree }] of this.#state.snapshots) await this.#walk(snapshot, tree);
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
    const shown = [...paths.values()].toSorted(inOrder).slice(0, PATHS_MAX);
    return { snapshots: [...snapshots], paths: shown, pathCount: paths.size > PATHS_MAX ? pathCount : paths.size };
  }

  async #walk(snapshot: string, root: Uint8Array): Promise<void> {
    const stack: OpenTree[] = [];
    const first = await this.#open(snapshot, { parent: undefined, name: '' as ByteString }, root);
    if (typeof first === 'object') stack.push(first);
    while (stack.length > 0) {
      const tree = stack.at(-1)!;
      const child = tree.children.next();
      if (child === undefined) {
        stack.pop();
        if (!tree.isHit) this.#clean.add(tree.entry);
        else if (stack.length > 0) stack.at(-1)!.isHit = true;
        continue;
      }
      const place = { parent: tree, name: child.name };
      if (this.#noteFile(snapshot, place, child)) tree.isHit = true;
      if (child.treeId === undefined) continue;
      const opened = await this.#open(snapshot, place, child.treeId);
      if (opened === 'unreadable') tree.isHit = true;
      else if (opened !== 'clean') stack.push(opened);
    }
  }

  async #open(snapshot: string, place: PathNode, treeId: Uint8Array): Promise<OpenTree | 'clean' | 'unreadable'> {
    const id = hex(treeId);
    const entry = this.#state.filter.find(treeId, 0);
    if (this.#damaged.has(id) || entry < 0) {
      this.#note(id, snapshot, place);
      return 'unreadable';
    }
    if (this.#clean.has(entry)) return 'clean';
    try {
      const children = new TreeReader(await this.#reader.readEntry(entry));
      return { parent: place.parent, name: place.name, entry, children, isHit: false };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#note(id, snapshot, place);
      return 'unreadable';
    }
  }

  #noteFile(snapshot: string, place: PathNode, child: TreeEntry): boolean {
    const { chunkIds } = child;
    const problem = child.type === 'file' ? this.#problemOf(child) : undefined;
    let isHit = problem !== undefined;
    if (problem !== undefined) this.#note(problem, snapshot, place);
    for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES) {
      const id = hex(chunkIds.subarray(offset, offset + CHUNK_ID_BYTES));
      if (!this.#damaged.has(id)) continue;
      isHit = true;
      this.#note(id, snapshot, place);
    }
    return isHit;
  }

  #note(chunk: string, snapshot: string, place: PathNode): void {
    const hit = this.#hits.get(chunk) ?? { snapshots: new Set(), paths: [], pathCount: 0 };
    this.#hits.set(chunk, hit);
    hit.snapshots.add(snapshot);
    hit.pathCount += 1;
    if (hit.paths.length < PATHS_MAX) hit.paths.push({ snapshot, path: shownPathOf(place) });
  }
}

function hex(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex');
}

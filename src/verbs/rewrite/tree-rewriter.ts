import { isDamage } from '../../core/errors.ts';
import type { PathPatterns } from '../../core/files/paths/path-patterns.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { decodeTree, encodeTree } from '../../core/format/tree/tree.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { walkSnapshot } from '../../core/repository/tree-walk.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import type { RewriteSelection } from './rewrite-selection.ts';
import type { Pacer } from '../../core/util/pacer.ts';

/** What a snapshot loses. */
export interface LeftOut {
  fileCount: number;
  sizeBytes: number;
}

/** Writes the trees of a snapshot again without some of their entries. Contents of files are not touched. */
export class TreeRewriter {
  /** The trees that were written, by hex id. */
  readonly trees: Map<string, Uint8Array> = new Map();
  readonly #reader: StateReader;
  readonly #hasher: Repository['hasher'];
  readonly #chunks: RepositoryChunkSaver;
  readonly #pacer: Pacer;

  constructor(services: {
    readonly reader: StateReader;
    readonly hasher: Repository['hasher'];
    readonly chunks: RepositoryChunkSaver;
    readonly pacer: Pacer;
  }) {
    this.#reader = services.reader;
    this.#hasher = services.hasher;
    this.#chunks = services.chunks;
    this.#pacer = services.pacer;
  }

  /**
   * Returns the id of the new root. As in a backup, patterns that exclude leave out only what is below the paths of the
   * snapshot. With patterns that include, directories stay that match or lead to something; if nothing does, the
   * snapshot stays as it is.
   */
  async rewrite(
    snapshot: Snapshot,
    selection: RewriteSelection,
  ): Promise<{ readonly tree: Uint8Array; readonly leftOut: LeftOut }> {
    if (selection.isInclude) return await this.#keepIncluded(snapshot, selection.patterns);
    const { patterns } = selection;
    const leftOut = { fileCount: 0, sizeBytes: 0 };
    const roots = new Set(snapshot.paths);
    const isRoot = (place: PathNode): boolean => roots.has(joinPath(snapshot.base, pathOf(place)));
    const rewriteDirectory = async (
      id: Uint8Array,
      place: PathNode | undefined,
      isBelow: boolean,
    ): Promise<Uint8Array> => {
      const kept: TreeEntry[] = [];
      let isChanged = false;
      for (const entry of decodeTree(await this.#reader.read(id, 0))) {
        await this.#pacer.pause();
        const child = { parent: place, name: entry.name };
        if (isBelow && patterns.matches(child)) {
          await this.#count(entry, leftOut);
          isChanged = true;
          continue;
        }
        if (entry.treeId === undefined) {
          kept.push(entry);
          continue;
        }
        const treeId = await rewriteDirectory(entry.treeId, child, isBelow || isRoot(child));
        if (treeId !== entry.treeId) isChanged = true;
        kept.push({ ...entry, treeId });
      }
      return isChanged ? await this.#store(kept) : id;
    };
    const root = Buffer.from(snapshot.tree, 'hex');
    return { tree: await rewriteDirectory(root, undefined, roots.has(snapshot.base)), leftOut };
  }

  async #keepIncluded(
    { tree }: Snapshot,
    patterns: PathPatterns,
  ): Promise<{ readonly tree: Uint8Array; readonly leftOut: LeftOut }> {
    const leftOut = { fileCount: 0, sizeBytes: 0 };
    /** `isKept`: whether the directory stays even if nothing in it does. */
    const rewriteDirectory = async (
      id: Uint8Array,
      place: PathNode | undefined,
      isKept: boolean,
    ): Promise<Uint8Array | undefined> => {
      const kept: TreeEntry[] = [];
      let isChanged = false;
      for (const entry of decodeTree(await this.#reader.read(id, 0))) {
        await this.#pacer.pause();
        const child = { parent: place, name: entry.name };
        const isMatch = patterns.matches(child);
        if (entry.treeId === undefined ? !isMatch : !isMatch && !patterns.mayMatchIn(child)) {
          await this.#count(entry, leftOut);
          isChanged = true;
          continue;
        }
        const treeId = entry.treeId && (await rewriteDirectory(entry.treeId, child, isMatch));
        if (treeId !== entry.treeId) isChanged = true;
        if (treeId !== undefined || entry.treeId === undefined) kept.push({ ...entry, treeId });
      }
      if (kept.length === 0 && !isKept) return undefined;
      return isChanged ? await this.#store(kept) : id;
    };
    const root = Buffer.from(tree, 'hex');
    const found = await rewriteDirectory(root, undefined, false);
    return found === undefined ? { tree: root, leftOut: { fileCount: 0, sizeBytes: 0 } } : { tree: found, leftOut };
  }

  async #store(entries: readonly TreeEntry[]): Promise<Uint8Array> {
    const bytes = encodeTree(entries);
    const id = Uint8Array.from(this.#hasher.treeId(bytes));
    this.trees.set(Buffer.from(id).toString('hex'), bytes);
    await this.#distrustUnreadable(id);
    await this.#chunks.put('tree', id, bytes);
    return id;
  }

  /** An earlier rewrite may have made the same tree, and the old snapshot may be deleted: a damaged one does not count. */
  async #distrustUnreadable(id: Uint8Array): Promise<void> {
    if (!this.#reader.has(id, 0)) return;
    try {
      await this.#reader.read(id, 0);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#chunks.distrust(id);
    }
  }

  async #count(entry: TreeEntry, leftOut: LeftOut): Promise<void> {
    const add = ({ type, sizeBytes }: TreeEntry): void => {
      if (type !== 'file') return;
      leftOut.fileCount += 1;
      leftOut.sizeBytes += sizeBytes;
    };
    if (entry.treeId === undefined) return add(entry);
    const walk = walkSnapshot(this.#reader, entry.treeId);
    for (let step = await walk.next(); step !== undefined; step = await walk.next()) {
      if (step.kind === 'unreadable') throw step.error;
      if (step.kind === 'entry') add(step.entry);
    }
  }
}

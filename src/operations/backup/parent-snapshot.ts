import { listNames } from '../../files/source-files.ts';
import { parentOf } from '../../files/root-paths.ts';
import { encodeTree } from '../../format/tree.ts';
import type { TreeEntry } from '../../format/tree.ts';
import { decodeSnapshot } from '../../format/snapshot.ts';
import type { Snapshot, SnapshotSummary } from '../../format/snapshot.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { ParentTree, ParentTrees } from './parent-tree.ts';

/** The snapshot that a backup compares the sources with. */
export interface ParentSnapshot {
  /** The id of the newest snapshot. */
  readonly id: string;
  /** The id of its root tree. */
  readonly tree: Uint8Array;
  /** The summary of the newest snapshot. */
  readonly summary: SnapshotSummary;
  /**
   * Entries from older snapshots, for roots that are empty or missing in the newest one, such as a mount point that was
   * not mounted.
   */
  readonly olderRoots: ReadonlyMap<ByteString, TreeEntry>;
  /** When the oldest of the snapshots in use began. A file that changed later may have been read before the change. */
  readonly startMs: number;
}

interface Candidate {
  readonly id: string;
  readonly snapshot: Snapshot;
}

/** Finds the snapshots to compare the sources with: those of the same paths on the same host. */
export async function findParent(
  repository: Repository,
  opened: OpenedState,
  given: {
    readonly hostname: string;
    readonly roots: readonly ByteString[];
    readonly trees: ParentTrees;
    readonly nowMs: number;
  },
): Promise<ParentSnapshot | undefined> {
  const [newest, ...others] = findCandidates(opened, given);
  if (newest === undefined) return undefined;
  const emptyTreeId = repository.hasher.treeId(encodeTree([]));
  const olderRoots = new Map<ByteString, TreeEntry>();
  const used = [newest];
  // The root directory of the system has no entry, and is never empty.
  const missing = new Set(given.roots.filter((root) => root !== newest.snapshot.base));
  const keepContent = async (candidate: Candidate): Promise<boolean> => {
    const reader = new RootReader(candidate.snapshot, given.trees);
    let isUsed = false;
    for (const root of missing) {
      const entry = await reader.read(root);
      if (entry === undefined || (entry.treeId !== undefined && Buffer.compare(entry.treeId, emptyTreeId) === 0))
        continue;
      missing.delete(root);
      isUsed = true;
      if (candidate !== newest) olderRoots.set(root, entry);
    }
    return isUsed;
  };
  await keepContent(newest);
  for (const root of missing) if (isEmptyNow(root)) missing.delete(root);
  for (const candidate of others) {
    if (missing.size === 0) break;
    if (await keepContent(candidate)) used.push(candidate);
  }
  const startMs = Math.min(...used.map(({ snapshot }) => Date.parse(snapshot.summary.backupStart)));
  const { tree, summary } = newest.snapshot;
  return { id: newest.id, tree: Buffer.from(tree, 'hex'), summary, olderRoots, startMs };
}

/** Newest first, but snapshots dated in the future come last: a wrong clock could keep one the newest for years. */
function findCandidates(
  opened: OpenedState,
  {
    hostname,
    roots,
    nowMs,
  }: { readonly hostname: string; readonly roots: readonly ByteString[]; readonly nowMs: number },
): Candidate[] {
  const paths = roots.join('\0');
  const present = new Set(opened.listing.snapshotIds);
  const candidates: (Candidate & { readonly timeMs: number })[] = [];
  for (const [id, { manifest }] of opened.state.snapshots) {
    if (!present.has(id)) continue;
    const snapshot = decodeSnapshot(manifest);
    if (snapshot.hostname !== hostname || snapshot.paths.join('\0') !== paths) continue;
    const timeMs = Date.parse(snapshot.time);
    candidates.push({ id, snapshot, timeMs: timeMs > nowMs ? -Infinity : timeMs });
  }
  return candidates.sort((a, b) => (a.timeMs === b.timeMs ? (a.id > b.id ? -1 : 1) : b.timeMs - a.timeMs));
}

/** Reads the entries of roots from one snapshot. */
class RootReader {
  readonly #snapshot: Snapshot;
  readonly #trees: ParentTrees;
  readonly #directories = new Map<ByteString, ParentTree | undefined>();

  constructor(snapshot: Snapshot, trees: ParentTrees) {
    this.#snapshot = snapshot;
    this.#trees = trees;
  }

  async read(path: ByteString): Promise<TreeEntry | undefined> {
    return (await this.#directory(parentOf(path)))?.entries.find(path.slice(path.lastIndexOf('/') + 1) as ByteString);
  }

  /** Several roots may be in the same directory, which is decoded once. */
  async #directory(path: ByteString): Promise<ParentTree | undefined> {
    if (this.#directories.has(path)) return this.#directories.get(path);
    const { base, tree } = this.#snapshot;
    const id = path === base ? Buffer.from(tree, 'hex') : (await this.read(path))?.treeId;
    const directory = await this.#trees.read(id);
    this.#directories.set(path, directory);
    return directory;
  }
}

function isEmptyNow(root: ByteString): boolean {
  try {
    return listNames(root).length === 0;
  } catch {
    return false;
  }
}

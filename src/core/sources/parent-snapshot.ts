import { listNames } from '../files/source/source-files.ts';
import { parentOf } from '../files/paths/root-paths.ts';
import type { RecordedAttributes, Snapshot, SnapshotSummary } from '../format/snapshot.ts';
import { encodeTree } from '../format/tree/tree.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { RepositoryFiles } from '../repository/repository-files.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Repository } from '../repository/repository.ts';
import type { ByteString } from '../util/byte-string.ts';
import { ParentEntries, composeParentTree } from './parent-entries.ts';
import type { ParentTrees } from './parent-tree.ts';
import type { SourcePlan } from './source-plan.ts';

/** What a backup compares the sources with. */
export interface ParentSnapshot {
  /** The id of the newest snapshot in use. */
  readonly id: string;
  /** The ids of all snapshots in use. */
  readonly usedIds: readonly string[];
  /** The id of the tree to compare with: for each root, it has the entry from the snapshot chosen for that root. */
  readonly tree: Uint8Array;
  /** The summary of the newest snapshot in use. Undefined if that snapshot has other paths than this backup. */
  readonly summary: SnapshotSummary | undefined;
  /** The hex id of the tree of that snapshot, on the same condition. */
  readonly wholeTree: string | undefined;
  /** What all snapshots in use have recorded about attributes. */
  readonly attributes: RecordedAttributes | undefined;
  /** The newest snapshot before that one with the same paths as it. */
  readonly earlier: Snapshot | undefined;
  /** When the oldest of the snapshots in use began. A file that changed later may have been read before the change. */
  readonly startMs: number;
}

/** The earlier snapshots that a backup has something to do with. */
export interface Predecessors {
  readonly parent: ParentSnapshot | undefined;
  /** The newest one of the same host and paths, by the time that it has. */
  readonly newest: SnapshotListing | undefined;
}

interface Candidate extends SnapshotListing {
  /** -Infinity for a time in the future. */
  readonly timeMs: number;
}

/** A snapshot that a root is compared with, and the root's entry in it. */
interface Chosen {
  readonly candidate: Candidate;
  /** Undefined for the root directory of the system, which has no entry. */
  readonly entry: TreeEntry | undefined;
}

interface Given {
  readonly hostname: string;
  readonly plan: SourcePlan;
  readonly trees: ParentTrees;
  readonly nowMs: number;
}

/** Decodes the manifests of all snapshots once: with 20,000, that takes a good part of a small backup. */
export async function findPredecessors(
  repository: Repository,
  opened: OpenedState,
  given: Given,
): Promise<Predecessors> {
  const candidates = findCandidates(repository.files, opened, given);
  const parent = await findParent(repository, candidates, given);
  return { parent, newest: newestOfGroup(candidates, given.plan.roots) };
}

/** Finds for each root the newest snapshot of the same host that has content of it, whatever else it contains. */
async function findParent(
  repository: Repository,
  candidates: readonly Candidate[],
  given: Given,
): Promise<ParentSnapshot | undefined> {
  const { plan, trees } = given;
  const emptyTreeId = repository.hasher.treeId(encodeTree([]));
  const chosen = await chooseForRoots(candidates, given, emptyTreeId);
  const used = [...new Set([...chosen.values()].map(({ candidate }) => candidate))].sort(newestFirst);
  const [newest] = used;
  if (newest === undefined) return undefined;
  const { tree, paths, summary } = newest.snapshot;
  const hasSamePaths = paths.join('\0') === plan.roots.join('\0');
  const composed = await composeParentTree(plan, new ParentEntries(newest.snapshot, trees), {
    entryOf: (root) => chosen.get(root)?.entry,
    hold: (bytes) => trees.hold(repository.hasher.treeId(bytes), bytes),
  });
  return {
    id: newest.id,
    usedIds: used.map(({ id }) => id),
    tree: composed ?? Buffer.from(tree, 'hex'),
    summary: hasSamePaths ? summary : undefined,
    wholeTree: hasSamePaths ? tree : undefined,
    attributes: recordedByAll(used),
    earlier: newestOfPaths(candidates.slice(candidates.indexOf(newest) + 1), paths)?.snapshot,
    startMs: Math.min(...used.map(({ snapshot }) => Date.parse(snapshot.summary.backupStart))),
  };
}

function recordedByAll(used: readonly Candidate[]): RecordedAttributes | undefined {
  const recorded = new Set(used.map(({ snapshot }) => snapshot.attributes));
  if (recorded.has(undefined)) return undefined;
  return recorded.has('visible') ? 'visible' : 'all';
}

async function chooseForRoots(
  candidates: readonly Candidate[],
  { plan, trees }: Given,
  emptyTreeId: Uint8Array,
): Promise<Map<ByteString, Chosen>> {
  const chosen = new Map<ByteString, Chosen>();
  /** Each root without content so far, with itself and the directories above it. */
  const missing = new Map(plan.roots.map((root) => [root, withAncestors(root)]));
  const hasContent = (root: ByteString, { treeId, type }: TreeEntry): boolean => {
    if (treeId !== undefined) return Buffer.compare(treeId, emptyTreeId) !== 0;
    // A wider snapshot has saved the link itself. This backup follows it.
    return type !== 'symlink' || !plan.followed.has(root);
  };
  const searched = new Set<ByteString>();
  for (const candidate of candidates) {
    if (missing.size === 0) break;
    const paths = new Set(candidate.snapshot.paths);
    const entries = new ParentEntries(candidate.snapshot, trees);
    for (const [root, ancestors] of missing) {
      if (!ancestors.some((path) => paths.has(path))) continue;
      const entry = root === '/' ? undefined : await entries.read(root);
      const isFound = root === '/' || (entry !== undefined && hasContent(root, entry));
      if (isFound || (entry !== undefined && !chosen.has(root))) chosen.set(root, { candidate, entry });
      // An older snapshot would not help a root that is empty now.
      if (isFound || (!searched.has(root) && isEmptyNow(root))) missing.delete(root);
      searched.add(root);
    }
  }
  return chosen;
}

/** `candidates`: the newest one first. */
function newestOfPaths(candidates: readonly Candidate[], paths: readonly ByteString[]): Candidate | undefined {
  const group = paths.join('\0');
  return candidates.find(({ snapshot }) => snapshot.paths.join('\0') === group);
}

function newestOfGroup(candidates: readonly Candidate[], roots: readonly ByteString[]): SnapshotListing | undefined {
  const group = roots.join('\0');
  const ofGroup = candidates
    .filter(({ snapshot }) => snapshot.paths.join('\0') === group)
    .map((candidate) => ({ ...candidate, timeMs: Date.parse(candidate.snapshot.time) }));
  const [newest] = ofGroup.sort(newestFirst);
  return newest && { id: newest.id, snapshot: newest.snapshot };
}

function findCandidates(
  files: RepositoryFiles,
  opened: OpenedState,
  { hostname, nowMs }: Pick<Given, 'hostname' | 'nowMs'>,
): Candidate[] {
  const present = new Set(opened.listing.snapshotIds);
  const candidates: Candidate[] = [];
  for (const [id, { manifest }] of opened.state.snapshots) {
    if (!present.has(id)) continue;
    const snapshot = files.decodeManifest(manifest);
    if (snapshot.hostname !== hostname) continue;
    const timeMs = Date.parse(snapshot.time);
    candidates.push({ id, snapshot, timeMs: timeMs > nowMs ? -Infinity : timeMs });
  }
  return candidates.sort(newestFirst);
}

/** Snapshots dated in the future come last: a wrong clock could keep one the newest for years. */
function newestFirst(a: Candidate, b: Candidate): number {
  if (a.timeMs === b.timeMs) return a.id > b.id ? -1 : 1;
  return b.timeMs - a.timeMs;
}

function withAncestors(root: ByteString): ByteString[] {
  const paths = [root];
  for (let path = root; path !== '/'; path = parentOf(path)) paths.push(parentOf(path));
  return paths;
}

function isEmptyNow(root: ByteString): boolean {
  try {
    return listNames(root).length === 0;
  } catch {
    return false;
  }
}

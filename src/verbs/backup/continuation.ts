import type { Continued } from '../../core/saving/backup-result.ts';
import type { OwnerNames } from '../../core/files/native/owner-names.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { NO_ATTRIBUTES } from '../../core/format/tree/tree-entry.ts';
import { TreeEncoder, TreeReader } from '../../core/format/tree/tree.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { UnfinishedBackup } from '../../core/repository/unfinished-backups.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { buildEntry } from '../../core/sources/entry-builder.ts';
import type { FileStore, KnownFile } from './file-store.ts';
import { ParentTrees } from '../../core/sources/parent-tree.ts';
import type { ParentTree } from '../../core/sources/parent-tree.ts';
import type { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import type { SourcePlan } from '../../core/sources/source-plan.ts';
import type { FileStep, WalkedDirectory } from './walk-step.ts';

const RECORD_EVERY_MS = 5 * 60_000;
/** Recording takes at most this fraction of the time (1/n). */
const RECORDING_PART = 20;

/** How this backup records what it has stored. */
export interface Recording {
  readonly repository: Repository;
  readonly chunks: RepositoryChunkSaver;
  readonly owners: OwnerNames;
  /** Makes the manifest of a tree. */
  readonly describe: (tree: Uint8Array) => Snapshot;
  /** Default: every 5 minutes. */
  readonly everyMs?: number | undefined;
}

/**
 * Continues an interrupted backup of the same paths: files that it has stored are not read again. So that the next one
 * can continue this backup, it records what it has stored, from time to time and when it is cancelled.
 */
export class Continuation {
  /** What the interrupted backup had stored of the common parent of the roots. Undefined if there is none. */
  readonly leftoverTree: ParentTree | undefined;
  readonly #trees: ParentTrees;
  readonly #newest: UnfinishedBackup | undefined;
  /** Names of the records of this host and these paths. */
  #names: readonly string[];
  #filesCount = 0;
  #bytes = 0;
  #recording: Recording | undefined;
  #nextMs = Infinity;

  private constructor(
    trees: ParentTrees,
    names: readonly string[],
    newest: { readonly record: UnfinishedBackup; readonly tree: ParentTree } | undefined,
  ) {
    this.#trees = trees;
    this.#names = names;
    this.#newest = newest?.record;
    this.leftoverTree = newest?.tree;
  }

  /**
   * Finds the newest record of this host and these paths whose tree can still be read.
   * `readsAll`: the backup reads every file, so it continues nothing.
   */
  static async find(
    repository: Repository,
    opened: OpenedState,
    { hostname, plan, readsAll }: { readonly hostname: string; readonly plan: SourcePlan; readonly readsAll: boolean },
  ): Promise<Continuation> {
    const paths = plan.roots.join('\0');
    const records = (await repository.unfinished.readAll())
      .filter(({ snapshot }) => snapshot.hostname === hostname && snapshot.paths.join('\0') === paths)
      .toSorted((a, b) => Date.parse(startOf(b)) - Date.parse(startOf(a)));
    // A compaction reclaims these trees. That is no damage.
    const trees = new ParentTrees(opened.reader, () => undefined);
    const names = records.map(({ name }) => name);
    for (const record of readsAll ? [] : records) {
      const tree = await trees.read(Buffer.from(record.snapshot.tree, 'hex'));
      if (tree !== undefined) return new Continuation(trees, names, { record, tree });
    }
    return new Continuation(trees, names, undefined);
  }

  get continued(): Continued | undefined {
    if (this.#newest === undefined || this.#filesCount === 0) return undefined;
    return { startedAt: startOf(this.#newest), filesCount: this.#filesCount, bytes: this.#bytes };
  }

  /** Returns what the interrupted backup had stored of a directory. */
  async enter({ leftoverTree }: WalkedDirectory, name: ByteString): Promise<ParentTree | undefined> {
    return leftoverTree === undefined ? undefined : await this.#trees.read(leftoverTree.entries.find(name)?.treeId);
  }

  /** Returns the content of a file if the interrupted backup had stored it and it has not changed since. */
  reuse(
    { directory, name, metadata }: Pick<FileStep, 'directory' | 'name' | 'metadata'>,
    files: FileStore,
  ): KnownFile | undefined {
    if (directory.leftoverTree === undefined) return undefined;
    const stored = directory.leftoverTree.entries.find(name);
    const known = files.reuse(metadata, stored, Date.parse(startOf(this.#newest!)));
    if (known === undefined) return undefined;
    this.#filesCount += 1;
    this.#bytes += known.sizeBytes;
    return known;
  }

  /** From now on, this backup records what it has stored. */
  begin(recording: Recording): void {
    this.#recording = recording;
    this.#nextMs = performance.now() + (recording.everyMs ?? RECORD_EVERY_MS);
  }

  /** `position`: the directory of the last step that was stored. */
  async recordIfDue(position: WalkedDirectory): Promise<void> {
    const startMs = performance.now();
    if (this.#recording === undefined || startMs < this.#nextMs) return;
    await this.#record(this.#recording, position);
    const endMs = performance.now();
    const everyMs = this.#recording.everyMs ?? RECORD_EVERY_MS;
    this.#nextMs = endMs + Math.max(everyMs, RECORDING_PART * (endMs - startMs));
  }

  /** Records what a cancelled backup has stored. If that fails, the backup was cancelled all the same. */
  async recordLast(position: WalkedDirectory | undefined): Promise<void> {
    if (this.#recording === undefined || position === undefined) return;
    await this.#record(this.#recording, position).catch(() => undefined);
  }

  /** An earlier record stays while it has more files. */
  async #record(recording: Recording, position: WalkedDirectory): Promise<void> {
    const { repository, chunks } = recording;
    const tree = await storeTreesSoFar(recording, position);
    await chunks.flush();
    const snapshot = recording.describe(tree);
    if (this.#newest !== undefined && filesIn(this.#newest.snapshot) > filesIn(snapshot)) return;
    const name = await repository.unfinished.publish(snapshot, repository.assertLocked);
    await repository.unfinished.remove(this.#names);
    this.#names = [name];
  }

  /** Removes the records. The snapshot of these paths has been committed. */
  async end({ unfinished }: Repository): Promise<void> {
    await unfinished.remove(this.#names);
  }
}

function startOf({ snapshot }: UnfinishedBackup): string {
  return snapshot.summary.backupStart;
}

function filesIn({ summary }: Snapshot): number {
  return summary.totalFilesProcessed;
}

/** Stores the trees of the directories that are not complete, with the entries so far. Returns the id of the root. */
async function storeTreesSoFar(
  { repository, chunks, owners }: Recording,
  position: WalkedDirectory,
): Promise<Uint8Array> {
  let inner: { readonly directory: WalkedDirectory; readonly treeId: Uint8Array } | undefined;
  for (let directory: WalkedDirectory | undefined = position; directory !== undefined; directory = directory.parent) {
    const stored = directory.tree.soFar();
    const bytes = inner === undefined ? stored : withDirectory(stored, inner, owners);
    const treeId = repository.hasher.treeId(bytes);
    await chunks.put('tree', treeId, bytes);
    inner = { directory, treeId };
  }
  return inner!.treeId;
}

/** Adds the entry of a directory that is not complete after the entries so far. */
function withDirectory(
  stored: Buffer,
  { directory, treeId }: { readonly directory: WalkedDirectory; readonly treeId: Uint8Array },
  owners: OwnerNames,
): Buffer {
  const encoder = new TreeEncoder();
  const entries = new TreeReader(stored);
  for (let entry = entries.next(); entry !== undefined; entry = entries.next()) encoder.add(entry);
  encoder.add(buildEntry(directory.name, directory.metadata!, owners, { treeId }, NO_ATTRIBUTES));
  return encoder.finish().bytes;
}

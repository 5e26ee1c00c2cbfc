import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { decodeSnapshot } from '../../src/core/format/snapshot.ts';
import type { Snapshot } from '../../src/core/format/snapshot.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../src/core/saving/backup-result.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { copySnapshots } from '../../src/verbs/copy/copy.ts';
import type { CopyResult } from '../../src/verbs/copy/copy.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { countReferences, filterCounts, readPackedChunks, readRoots } from './brute-force.ts';
import { diffTrees } from './compare-trees.ts';
import { filesIn } from './damage.ts';
import { MemoryBackend } from './memory-backend.ts';
import { describeRoots } from './small-source.ts';
import type { SmallSource, SourceDescription } from './small-source.ts';
import { threadsOfTests } from './test-threads.ts';

/** Each cuts files in its own way. The last two cut them alike, with other keys. */
const REPOSITORIES: readonly InitOptions[] = [
  { capacity: 16, chunker: { kind: 'fastcdc', minSizeBytes: 128, averageSizeBytes: 512, maxSizeBytes: 2048 } },
  { capacity: 16, chunker: { kind: 'fastcdc', minSizeBytes: 256, averageSizeBytes: 2048, maxSizeBytes: 8192 } },
  { capacity: 16, chunker: { kind: 'fixed', sizeBytes: 300 } },
  { capacity: 16, chunker: { kind: 'fixed', sizeBytes: 300 }, chunkHash: 'sha256' },
];

/** Several repositories in memory that are copied to one another, and what their snapshots must have. */
export class CopyModel {
  readonly disks: MemoryBackend[] = [];
  readonly source: SmallSource;
  /** By the ids of the snapshots where they were made. */
  readonly #descriptions = new Map<string, SourceDescription>();
  readonly #target: string;

  constructor(source: SmallSource, target: string) {
    this.source = source;
    this.#target = target;
  }

  async initialize(): Promise<void> {
    for (const options of REPOSITORIES) {
      const backend = new MemoryBackend();
      await initRepository({ backend, threads: threadsOfTests() }, options);
      this.disks.push(backend);
    }
  }

  contextOf(backend: FileSystemBackend): OperationContext {
    return { backend, threads: threadsOfTests() };
  }

  async backup(disk: MemoryBackend, roots: readonly string[]): Promise<BackupResult> {
    const sources = roots.map((root) => join(this.source.directory, root));
    const result = await backup(this.contextOf(disk), { sources, cwd: '/', hostname: 'model' });
    assert.deepEqual(result.problems, []);
    this.#descriptions.set(result.snapshotId!, this.source.describe(roots));
    return result;
  }

  /** Copies everything, or the snapshots that are named. A second copy finds nothing to do. */
  async copy(from: MemoryBackend, to: MemoryBackend, selectors: readonly string[] = []): Promise<CopyResult> {
    const destination = { backend: to };
    const result = await copySnapshots(this.contextOf(from), { destination, selectors });
    assert.deepEqual(result.problems, []);
    const wanted = this.snapshotsIn(from).filter(([id]) => selectors.length === 0 || selectors.includes(id));
    const there = new Set(this.#originalsIn(to));
    for (const snapshot of wanted) assert(there.has(originalOf(snapshot)), `${snapshot[0]} was not copied`);
    const again = await copySnapshots(this.contextOf(from), { destination, selectors });
    assert.equal(again.storedBytes, 0);
    assert(again.snapshots.every(({ added }) => added === undefined));
    return result;
  }

  async delete(disk: MemoryBackend, ids: readonly string[], reclaim: boolean): Promise<void> {
    await deleteSnapshots(this.contextOf(disk), { selectors: ids, reclaim });
  }

  async compact(disk: MemoryBackend): Promise<void> {
    await compact(this.contextOf(disk), { maxUnusedPercent: 0 });
  }

  /** Every copy there is once, restores to the files of its original, and is counted as a walk over its trees counts. */
  async verify(disk: MemoryBackend): Promise<void> {
    const originals = this.#originalsIn(disk);
    assert.equal(new Set(originals).size, originals.length, 'a snapshot was copied twice');
    for (const snapshot of this.snapshotsIn(disk)) {
      await this.#verifyRestore(disk, snapshot[0], this.#descriptions.get(originalOf(snapshot))!);
    }
    const roots = await readRoots(disk);
    assert.deepEqual(await filterCounts(disk), countReferences(await readPackedChunks(disk), roots.values()));
    assert.deepEqual((await check(this.contextOf(disk), { readData: true })).findings, []);
  }

  snapshotsIn(disk: MemoryBackend): (readonly [string, Snapshot])[] {
    const names = filesIn(disk, 'snapshots');
    return names.map((name) => [name.slice('snapshots/'.length), decodeSnapshot(disk.peek(name)!)] as const);
  }

  #originalsIn(disk: MemoryBackend): string[] {
    return this.snapshotsIn(disk).map(originalOf);
  }

  async #verifyRestore(disk: MemoryBackend, id: string, description: SourceDescription): Promise<void> {
    const target = this.#target;
    mkdirSync(target);
    try {
      const { problems } = await restore(this.contextOf(disk), { selector: id, target });
      assert.deepEqual(problems, []);
      const restored = describeRoots(target, [...description.keys()]);
      for (const [root, tree] of description) assert.deepEqual(diffTrees(tree, restored.get(root)!), [], root);
    } finally {
      rmSync(target, { recursive: true });
    }
  }
}

function originalOf([id, snapshot]: readonly [string, Snapshot]): string {
  return snapshot.original ?? id;
}

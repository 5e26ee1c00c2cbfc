import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { exitCodeOfCheck } from '../../src/verbs/check/report.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { CompactOptions } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { RefusedError, SnapshotNotFoundError } from '../../src/core/errors.ts';
import { countReferences, filterCounts, readPackedChunks, readRoots } from './brute-force.ts';
import { diffTrees } from './compare-trees.ts';
import { describeRoots } from './small-source.ts';
import type { SmallSource, SourceDescription } from './small-source.ts';
import { MemoryBackend } from './memory-backend.ts';
import type { Prng } from './prng.ts';
import { threadsOfTests } from './test-threads.ts';

/** What the model knows of a snapshot that may still be there. */
interface KnownSnapshot {
  readonly description: SourceDescription;
  /** False once a reclaim began that may have taken its chunks. */
  canUndelete: boolean;
}

/** A repository in memory and, beside it, two plain Maps that say what must be in it. */
export class RepositoryModel {
  readonly disk: MemoryBackend = new MemoryBackend();
  readonly present: Map<string, KnownSnapshot> = new Map();
  readonly deleted: Map<string, KnownSnapshot> = new Map();
  /** Ids of snapshots that were reclaimed. */
  readonly gone: string[] = [];
  readonly source: SmallSource;
  readonly #prng: Prng;
  readonly #targetDirectory: string;

  constructor(source: SmallSource, targetDirectory: string, prng: Prng) {
    this.source = source;
    this.#targetDirectory = targetDirectory;
    this.#prng = prng;
  }

  async initialize(): Promise<void> {
    await initRepository(
      { backend: this.disk, threads: threadsOfTests() },
      // A tiny filter grows on the way, and tiny chunks make many of them.
      { capacity: 16, chunker: { kind: 'fastcdc', minSizeBytes: 128, averageSizeBytes: 512, maxSizeBytes: 2048 } },
    );
  }

  /** The commands: each runs one operation with `context` and says in `settle` what is true when it has succeeded. */

  async backup(context: OperationContext, roots: readonly string[]): Promise<void> {
    const description = this.source.describe(roots);
    try {
      const sources = roots.map((root) => join(this.source.directory, root));
      const { problems, snapshotId } = await backup(context, { sources, cwd: '/', hostname: 'model' });
      assert.deepEqual(problems, []);
      assert(snapshotId !== undefined && this.disk.peek(`snapshots/${snapshotId}`) !== undefined);
    } finally {
      // The rename is the commit, whatever happened after it, unless the backup withdrew the snapshot by deleting it.
      const fresh = this.#idsIn('snapshots').filter((id) => !this.present.has(id));
      const withdrawn = this.#idsIn('deleted').filter((id) => !this.deleted.has(id));
      assert(fresh.length + withdrawn.length <= 1, 'one backup made several snapshots');
      for (const id of fresh) this.present.set(id, { description, canUndelete: true });
      for (const id of withdrawn) this.deleted.set(id, { description, canUndelete: true });
    }
  }

  async delete(context: OperationContext, ids: readonly string[], reclaim: boolean): Promise<void> {
    try {
      const { notReclaimed } = await deleteSnapshots(context, { selectors: ids, reclaim });
      for (const id of ids) assert(!this.#idsIn('snapshots').includes(id), `${id} is still there`);
      if (reclaim) assert.equal(notReclaimed, undefined);
    } finally {
      this.#follow(this.present, this.deleted, ids);
      if (reclaim) this.#forgetReclaimed();
    }
  }

  async undelete(context: OperationContext, id: string): Promise<void> {
    const canRefuse = this.deleted.get(id)?.canUndelete === false;
    try {
      await undeleteSnapshots(context, { selectors: [id] });
      assert(this.#idsIn('snapshots').includes(id));
    } catch (error) {
      if (!(canRefuse && error instanceof RefusedError)) throw error;
    } finally {
      this.#follow(this.deleted, this.present, [id]);
    }
  }

  async compact(context: OperationContext, options: CompactOptions): Promise<void> {
    try {
      await this.#compactUnlessRefused(context, options);
      assert.deepEqual(this.#idsIn('deleted'), []);
    } finally {
      this.#forgetReclaimed();
    }
  }

  async repair(context: OperationContext): Promise<void> {
    const { remaining } = await repair(context);
    assert.deepEqual(remaining, []);
  }

  async check(context: OperationContext): Promise<void> {
    const { findings } = await check(context, this.#prng.int(2) === 0 ? { readData: true } : {});
    assert.equal(exitCodeOfCheck({ findings }), 0, JSON.stringify(findings));
  }

  async assertGone(id: string): Promise<void> {
    await assert.rejects(
      undeleteSnapshots({ backend: this.disk, threads: threadsOfTests() }, { selectors: [id] }),
      SnapshotNotFoundError,
    );
  }

  /** Removes the newest checkpoint, or all. */
  loseCheckpoints(count: number): void {
    const names = this.disk.names().filter((name) => name.startsWith('filter/'));
    for (const name of names.slice(-count)) void this.disk.remove(name);
  }

  async assertRestores(id: string): Promise<void> {
    const { description } = this.present.get(id)!;
    const target = this.#targetDirectory;
    mkdirSync(target);
    try {
      const { problems } = await restore({ backend: this.disk, threads: threadsOfTests() }, { selector: id, target });
      assert.deepEqual(problems, []);
      const restored = describeRoots(target, [...description.keys()]);
      for (const [root, tree] of description) assert.deepEqual(diffTrees(tree, restored.get(root)!), [], root);
    } finally {
      rmSync(target, { recursive: true });
    }
  }

  /** The snapshots are those of the model, and the filter counts what a walk over the packs' trees counts. */
  async assertCounts(): Promise<void> {
    assert.deepEqual(this.#idsIn('snapshots'), [...this.present.keys()].sort());
    assert.deepEqual(this.#idsIn('deleted'), [...this.deleted.keys()].sort());
    const counted = countReferences(await readPackedChunks(this.disk), (await readRoots(this.disk)).values());
    assert.deepEqual(await filterCounts(this.disk), counted);
  }

  /** After everything is deleted nothing is left but the configuration and an empty filter. */
  async assertEmptiesOut(): Promise<void> {
    const context = { backend: this.disk, threads: threadsOfTests() };
    if (this.present.size > 0) await this.delete(context, [...this.present.keys()], this.#prng.int(2) === 0);
    await this.compact(context, { maxUnusedPercent: 0 });
    const left = this.disk
      .names()
      .filter((name) => !/^(config|config\.bak|reserve|filter\/.*|index\/commit(s|-\d+))$/.test(name));
    assert.deepEqual(left, []);
  }

  /** Only where every image is lost and no snapshot was ever deleted or present may compaction ask for a person's word. */
  async #compactUnlessRefused(context: OperationContext, options: CompactOptions): Promise<void> {
    const mayRefuse =
      this.present.size + this.deleted.size === 0 && !this.disk.names().some((name) => name.startsWith('filter/'));
    try {
      await compact(context, options);
    } catch (error) {
      if (!(mayRefuse && error instanceof RefusedError)) throw error;
      await compact(context, { ...options, forgetLost: true });
    }
  }

  /** A rename is all or nothing, for each snapshot by itself. */
  #follow(from: Map<string, KnownSnapshot>, to: Map<string, KnownSnapshot>, ids: readonly string[]): void {
    const remaining = this.#idsIn(from === this.present ? 'snapshots' : 'deleted');
    for (const id of ids.filter((one) => !remaining.includes(one))) {
      to.set(id, from.get(id)!);
      from.delete(id);
    }
  }

  #forgetReclaimed(): void {
    const remaining = this.#idsIn('deleted');
    for (const [id, known] of this.deleted) {
      known.canUndelete = false;
      if (remaining.includes(id)) continue;
      this.deleted.delete(id);
      this.gone.push(id);
    }
  }

  #idsIn(directory: string): string[] {
    const prefix = `${directory}/`;
    return this.disk.names().flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  }
}

import assert from 'node:assert/strict';

import { compact } from '../../src/core/removing/compact.ts';
import { undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import type { SnapshotListing } from '../../src/core/repository/read-snapshots.ts';
import { inTurn, restoreOne } from './aftermath.ts';
import { countReferences, filterCounts, readPackedChunks, readRoots } from './brute-force.ts';
import type { Stage } from './crash-stage.ts';
import { checkAll } from './damage.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { withoutLeftOut } from './replacing-acts.ts';
import type { ReplacingAct } from './replacing-acts.ts';
import { simulatedProcess } from './simulated-process.ts';
import { inSoak } from './soak.ts';
import { isEncryptedRun } from './test-password.ts';

/** What is known of the snapshots that were made for a stage. */
export class ReplacedSnapshots {
  readonly #stage: Stage;
  /** The time of a snapshot stays whatever its manifest becomes. */
  readonly #ids = new Map<string, string>();
  readonly #roots = new Map<string, string>();
  #examinedCount = 0;

  private constructor(stage: Stage) {
    this.#stage = stage;
  }

  static async of(stage: Stage): Promise<ReplacedSnapshots> {
    const known = new ReplacedSnapshots(stage);
    const context = simulatedProcess(stage.backend);
    for (const { id, snapshot } of [
      ...(await listSnapshots(context)),
      ...(await listSnapshots(context, { deleted: true })),
    ]) {
      const original = snapshot.original ?? id;
      known.#ids.set(snapshot.time, original);
      known.#roots.set(original, snapshot.tree);
    }
    assert.deepEqual([...known.#roots.keys()].toSorted(), stage.snapshotIds.toSorted());
    return known;
  }

  /**
   * Uses a repository after an act was interrupted, and returns what is wrong; see `ReplacingAct`. In the suite, every
   * second one is counted before it is compacted, and the others are counted and restored afterwards.
   */
  async examine(backend: MemoryBackend, act: ReplacingAct, succeeded: boolean): Promise<string[]> {
    const allowed = succeeded ? new RegExp(`^${act.done}$`) : act.allowed;
    const failures = await this.#judge(backend, allowed);
    this.#examinedCount += 1;
    const [isBefore, isAfter] = inSoak([true, true], [this.#examinedCount % 2 === 0, this.#examinedCount % 2 > 0]);
    if (isBefore) failures.push(...(await findMiscounts(backend)));
    if (!isAfter) return failures;
    await undeleteKept(backend);
    await compact(simulatedProcess(backend), { maxUnusedPercent: 0 });
    failures.push(...(await this.#judge(backend, act.settled)), ...(await findMiscounts(backend)));
    for (const listing of inTurn(this.#stage, await listSnapshots(simulatedProcess(backend)))) {
      const tree = this.#stage.trees.get(this.#idOf(listing))!;
      const isWhole = this.#isWhole(listing);
      failures.push(...(await restoreOne(backend, listing.id, isWhole ? tree : withoutLeftOut(tree))));
    }
    return failures;
  }

  async #judge(backend: MemoryBackend, allowed: RegExp): Promise<string[]> {
    const found = new Map<string, string[]>(this.#stage.snapshotIds.map((id) => [id, []]));
    const add = (listing: SnapshotListing, letter: string): void => {
      const id = this.#idOf(listing);
      found.set(id, [...(found.get(id) ?? []), letter]);
    };
    for (const listing of await listSnapshots(simulatedProcess(backend))) {
      add(listing, this.#isWhole(listing) ? 'P' : 'R');
    }
    for (const listing of await listSnapshots(simulatedProcess(backend), { deleted: true })) {
      // One without what was left out was withdrawn.
      if (this.#isWhole(listing)) add(listing, 'D');
    }
    return [...found].flatMap(([id, each], index) => {
      const letters = each.toSorted().join('');
      return (index < 2 ? allowed : /^P$/).test(letters) ? [] : [`snapshot ${index} (${id}) is listed as '${letters}'`];
    });
  }

  #idOf({ snapshot }: SnapshotListing): string {
    return this.#ids.get(snapshot.time)!;
  }

  #isWhole(listing: SnapshotListing): boolean {
    return listing.snapshot.tree === this.#roots.get(this.#idOf(listing));
  }
}

/** A check, and the counts of the filter beside a count of the trees in the packs. */
async function findMiscounts(backend: MemoryBackend): Promise<string[]> {
  const failures = (await checkAll(backend)).findings.map(({ message }) => message);
  if (isEncryptedRun) return failures;
  // As the next command finds the repository: a lock of a dead process stays until then.
  const counts = await filterCounts(backend.copy());
  const counted = countReferences(await readPackedChunks(backend), (await readRoots(backend)).values());
  for (const [id, count] of counted) {
    if (counts.get(id) !== count) failures.push(`chunk ${id} has ${counts.get(id)} references and not ${count}`);
  }
  if (counts.size !== counted.size) failures.push(`${counts.size} chunks are live and not ${counted.size}`);
  return failures;
}

/** Brings back each snapshot whose delete was to be undone until a time that has not come. */
async function undeleteKept(backend: MemoryBackend): Promise<void> {
  const deleted = await listSnapshots(simulatedProcess(backend), { deleted: true });
  const isKept = ({ snapshot }: SnapshotListing): boolean => Date.parse(snapshot.deletedUntil ?? '') > Date.now();
  const selectors = deleted.filter(isKept).map(({ id }) => id);
  if (selectors.length > 0) await undeleteSnapshots(simulatedProcess(backend), { selectors });
}

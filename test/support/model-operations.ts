import { backup } from '../../src/verbs/backup/backup.ts';
import type { Backend } from '../../src/core/backend/backend.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../src/verbs/forget/forget.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { rewriteSnapshots } from '../../src/verbs/rewrite/rewrite.ts';
import { tagSnapshots } from '../../src/verbs/tag/tag.ts';
import { ForgetWatch } from './forget-watch.ts';
import type { Prng } from './prng.ts';
import type { ModelProcess } from './scheduled-process.ts';
import { optionsOfTests } from './simulated-process.ts';
import type { SuspensionLedger } from './suspension-ledger.ts';

type RunOperation = (context: OperationContext, process: ModelProcess) => Promise<void>;

const LATER = '2999-01-01T00:00:00Z';
const PAST = '2000-01-01T00:00:00Z';
/** So that ids do not depend on the machine. */
const SOURCES = { cwd: '/', hostname: 'tower' };
/** The name of a file in one of the sources that a rewrite leaves out. */
export const LEFT_OUT = 'left-out';

interface OperationsOptions {
  readonly ledger: SuspensionLedger;
  /** Those that run. */
  readonly processes: ReadonlySet<ModelProcess>;
  readonly prng: Prng;
  /** Files to choose from. */
  readonly sources: readonly string[];
  /** Whether some apply a rule that keeps the newest snapshots. */
  readonly forgets: boolean;
}

/** The operations of a suspension model, which tell its ledger what they report. */
export class ModelOperations {
  readonly #ledger: SuspensionLedger;
  readonly #processes: ReadonlySet<ModelProcess>;
  readonly #prng: Prng;
  readonly #sources: readonly string[];
  readonly #forgets: boolean;
  readonly #watches = new Set<ForgetWatch>();
  #backupCount = 0;

  constructor({ ledger, processes, prng, sources, forgets }: OperationsOptions) {
    this.#ledger = ledger;
    this.#processes = processes;
    this.#prng = prng;
    this.#sources = sources;
    this.#forgets = forgets;
  }

  /** To be called after each change of the repository. */
  observe(): void {
    for (const watch of this.#watches) watch.observe();
  }

  /**
   * Two snapshots, of which one is deleted and not reclaimed: the first compaction has something to remove. Where a rule
   * counts, there is one more, and both that stay were reported.
   */
  async prepare(backend: Backend): Promise<void> {
    const context = { backend, ...optionsOfTests() };
    const first = this.#prng.int(this.#sources.length - 2);
    const backUp = async (from: number): Promise<string> => {
      const sources = this.#sources.slice(from, from + 2);
      return (await backup(context, { ...this.#options(), sources })).snapshotId!;
    };
    const saved = [await backUp(first), await backUp(first + 1)];
    if (this.#forgets) saved.push(await backUp(first));
    await deleteSnapshots(context, { selectors: [saved[0]!], reclaim: false });
    if (this.#forgets) for (const id of saved.slice(1)) await this.#ledger.promise(id);
  }

  pick(): readonly [string, RunOperation] {
    if (this.#forgets && this.#prng.int(6) === 0)
      return ['forget', this.#forget(1 + this.#prng.int(2), this.#prng.int(3) > 0)];
    // Beside a removal that sleeps, backups are what may rely on what it takes away when it wakes.
    const choice = [...this.#processes].some(({ isRemoving }) => isRemoving) ? this.#prng.int(10) : this.#prng.int(24);
    const present = this.#ledger.idsIn('snapshots');
    const deleted = [...this.#ledger.idsIn('deleted'), ...present.filter((id) => this.#isKept(id))];
    if (choice >= 11 && choice < 17 && present.length > 0) return this.#pickChange(this.#pickChanged(present));
    if (choice >= 17 && choice < 20 && deleted.length > 0)
      return ['undelete', this.#undelete(this.#prng.pick(deleted))];
    if (choice === 20) return ['repair', async (context) => void (await repair(context))];
    if (choice >= 8) return ['compact', async (context) => void (await compact(context, { maxUnusedPercent: 0 }))];
    const first = this.#prng.int(this.#sources.length);
    return ['backup', this.#backUp(this.#sources.slice(first, first + 1 + this.#prng.int(3)))];
  }

  /** A rule counts the newest one. So where that is gone, a rule must not count it. */
  #pickChanged(present: readonly string[]): string {
    if (!this.#forgets || this.#prng.int(3) === 0) return this.#prng.pick(present);
    const timeOf = (id: string): string => this.#ledger.manifestOf(id)!.time;
    return present.toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0]!;
  }

  #pickChange(id: string): readonly [string, RunOperation] {
    const choice = this.#prng.int(6);
    if (choice < 2) return ['delete', this.#delete(id, { reclaim: this.#prng.int(3) > 0 })];
    if (choice === 2) return ['delete', this.#delete(id, { undoUntil: this.#prng.pick([LATER, LATER, PAST]) })];
    if (choice === 3) return ['rewrite', this.#rewrite(id, this.#prng.int(3) > 0)];
    return ['tag', this.#tag(id, `tag-${this.#prng.int(3)}`)];
  }

  #isKept(id: string): boolean {
    return this.#ledger.manifestOf(id)?.deletedUntil !== undefined;
  }

  #backUp(sources: readonly string[]): RunOperation {
    // With records of what is stored after each entry.
    const options = { ...this.#options(), sources, ...(this.#prng.int(4) === 0 ? { recordEveryMs: 0 } : {}) };
    return async (context, process) => {
      const { snapshotId } = await backup(context, options);
      // A delete can be faster than the report.
      if (this.#ledger.deletesOf(snapshotId!) === 0) await this.#report(process, snapshotId!);
    };
  }

  /** A rule counts by time, and the clock of a schedule stands still. */
  #options(): typeof SOURCES & { readonly time?: string } {
    if (!this.#forgets) return SOURCES;
    this.#backupCount += 1;
    return { ...SOURCES, time: new Date(Date.UTC(2025, 0, this.#backupCount)).toISOString() };
  }

  #forget(keepLast: number, reclaim: boolean): RunOperation {
    return async (context) => {
      const watch = new ForgetWatch(this.#ledger, keepLast);
      this.#watches.add(watch);
      try {
        await forgetByPolicy(context, { policy: { counts: { last: keepLast } }, groupBy: [], reclaim });
      } finally {
        this.#watches.delete(watch);
      }
    };
  }

  #delete(id: string, options: { readonly reclaim?: boolean; readonly undoUntil?: string }): RunOperation {
    return async (context, process) => {
      const mayReport = this.#watchDeletes(id, 1);
      this.#ledger.release(id);
      await deleteSnapshots(context, { selectors: [id], ...options });
      if (options.undoUntil !== LATER || !mayReport()) return;
      const kept = this.#ledger.idsIn('snapshots').find((each) => this.#ledger.manifestOf(each)?.replaces === id);
      await this.#report(process, kept ?? id);
    };
  }

  #undelete(id: string): RunOperation {
    return async (context, process) => {
      const mayReport = this.#watchDeletes(id);
      const { snapshots } = await undeleteSnapshots(context, { selectors: [id] });
      if (mayReport()) await this.#report(process, snapshots[0]!.id);
    };
  }

  #tag(id: string, tag: string): RunOperation {
    return async (context, process) => {
      const mayReport = this.#watchDeletes(id);
      // One that was never reported, such as that of an undelete that is yet to verify it, may not be whole.
      const wasPromised = this.#ledger.isPromised(id);
      const { changed } = await tagSnapshots(context, { selectors: [id], add: [tag] });
      if (wasPromised && changed.length > 0 && mayReport()) await this.#report(process, changed[0]!.new.id);
    };
  }

  #rewrite(id: string, forget: boolean): RunOperation {
    const patterns = { exact: [LEFT_OUT] };
    const newHost = this.#prng.pick(['one', 'two']);
    return async (context, process) => {
      if (forget) this.#ledger.release(id);
      const { rewritten } = await rewriteSnapshots(context, { selectors: [id], patterns, newHost, forget });
      const newId = rewritten[0]?.newId;
      if (newId !== undefined && this.#ledger.deletesOf(newId) === 0) await this.#report(process, newId);
    };
  }

  /** Returns whether nothing has deleted, or may yet delete, the snapshot: `ownCount` deletes are those of the caller. */
  #watchDeletes(id: string, ownCount = 0): () => boolean {
    const before = this.#ledger.deletesOf(id) + ownCount;
    const deleting = [...this.#processes].filter(({ kind }) => ['delete', 'rewrite', 'forget'].includes(kind));
    return () => deleting.length <= ownCount && this.#ledger.deletesOf(id) === before;
  }

  /** Nothing else runs meanwhile. */
  async #report(process: ModelProcess, id: string): Promise<void> {
    process.isReporting = true;
    await this.#ledger.promise(id);
    process.isReporting = false;
  }
}

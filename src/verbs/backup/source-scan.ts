import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { startedAsBatch } from '../../core/files/native/batch-policy.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Progress } from '../../core/session/progress.ts';
import { EXCLUSION_KINDS } from '../../core/sources/exclusion.ts';
import type { ExclusionOptions } from '../../core/sources/exclusion.ts';
import type { ParentSnapshot } from '../../core/sources/parent-snapshot.ts';
import type { CountOrder } from './count-thread.ts';
import type { CountScope, SourceTotals } from './source-count.ts';

/** A short backup is done before a thread has started (80 ms of processor time). */
const START_DELAY_MS = 200;
/** The thread produces little garbage, but by default V8 would reserve 16 MiB for it. */
const YOUNG_MEBIBYTES_MAX = 2;

/**
 * Sets the totals of the progress. The totals of a parent snapshot with the same paths are close enough; without one,
 * the sources are counted if the progress is shown, and the limit leaves a thread for that.
 */
export function announceTotals(
  progress: Progress | undefined,
  parent: ParentSnapshot | undefined,
  scope: CountScope,
  threads: Pick<Repository['threads'], 'makeRoom'>,
): SourceScan | undefined {
  if (progress === undefined) return undefined;
  const summary = parent?.summary;
  if (summary === undefined) {
    const release = progress.isShown ? threads.makeRoom() : undefined;
    return release === undefined ? undefined : new SourceScan(scope, progress, release);
  }
  progress.filesTotal = summary.totalFilesProcessed;
  progress.bytesTotal = summary.totalBytesProcessed;
  return undefined;
}

/**
 * Counts the sources of a backup in a thread of its own, so that its progress has totals. The main thread would be the
 * slower one: it is never idle during a first backup. If the thread fails, the progress has no totals.
 */
class SourceScan {
  readonly #progress: Progress;
  readonly #order: CountOrder;
  #timer: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;
  readonly #release: () => void;

  /** `release` is called once when the thread has ended. */
  constructor(
    { plan: { base, roots, followed }, excluded, repositoryPlace }: CountScope,
    progress: Progress,
    release: () => void,
  ) {
    this.#release = release;
    const scope = { plan: { base, roots, followed }, excluded: rulesOf(excluded), repositoryPlace };
    this.#order = { scope, stop: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) };
    this.#progress = progress;
    progress.isCounting = true;
    this.#timer = setTimeout(() => this.#start(), START_DELAY_MS);
  }

  /** When it resolves, the thread no longer reads anything. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    Atomics.store(this.#order.stop, 0, 1);
    this.#progress.isCounting = false;
    if (this.#ended === undefined) this.#release();
    await this.#ended;
  }

  #start(): void {
    try {
      this.#watch(startThread(this.#order));
    } catch {
      // The system has no room for a thread: the backup goes on without a goal.
      this.#progress.isCounting = false;
    }
  }

  #watch(worker: Worker): void {
    worker.on('message', (totals: SourceTotals) => this.#announce(totals));
    worker.on('error', () => undefined);
    this.#ended = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#progress.isCounting = false;
        this.#release();
        resolve();
      });
    });
  }

  #announce({ fileCount, bytes }: SourceTotals): void {
    this.#progress.filesTotal = fileCount;
    this.#progress.bytesTotal = bytes;
  }
}

/** The built program even when running from source, because a thread cannot run TypeScript on Node 20. */
function startThread(workerData: CountOrder): Worker {
  const program = createRequire(import.meta.url).resolve('#count-thread');
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES_MAX };
  return startedAsBatch(() => new Worker(program, { workerData, execArgv: [], resourceLimits }));
}

/** The options of a backup have functions too, which cannot be sent. */
function rulesOf(options: ExclusionOptions): ExclusionOptions {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(EXCLUSION_KINDS, name)));
}

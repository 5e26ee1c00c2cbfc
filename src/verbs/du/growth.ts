import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { forEachChild } from '../../core/format/tree/tree.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import { Pacer } from '../../core/util/pacer.ts';

/** What a snapshot adds to the older ones. */
export interface SnapshotGrowth {
  readonly listing: SnapshotListing;
  /** The stored size of the chunks and trees that no older snapshot has. */
  readonly storedBytes: number;
}

/**
 * Measures how the snapshots, from the oldest to the newest, make up what is stored for them. What a snapshot added that
 * was deleted since counts for the oldest one that still needs it. Reads each tree once.
 * @throws CorruptDataError if a tree cannot be read
 */
export async function measureGrowth(context: OperationContext): Promise<SnapshotGrowth[]> {
  return await withRepository(context, 'read', async (repository) => {
    const { listings } = await repository.files.readSnapshots();
    const opened = await repository.openState();
    beginPhase(context.progress, 'measuring');
    const meter = new GrowthMeter(opened, new Pacer(context));
    const growth: SnapshotGrowth[] = [];
    for (const listing of listings) {
      const root = Buffer.from(listing.snapshot.tree, 'hex');
      growth.push({ listing, storedBytes: await meter.add(root) });
    }
    return growth;
  });
}

class GrowthMeter {
  readonly #opened: Pick<OpenedState, 'state' | 'reader'>;
  readonly #pacer: Pacer;
  readonly #reached = new EntrySet();
  readonly #trees: number[] = [];
  #storedBytes = 0;

  constructor(opened: Pick<OpenedState, 'state' | 'reader'>, pacer: Pacer) {
    this.#opened = opened;
    this.#pacer = pacer;
  }

  /** Returns the stored size of what the root reaches and no root before it has reached. */
  async add(root: Uint8Array): Promise<number> {
    const before = this.#storedBytes;
    this.#reach(root, 0, true);
    for (let number = this.#trees.pop(); number !== undefined; number = this.#trees.pop()) {
      const pause = this.#pacer.pause();
      if (pause !== undefined) await pause;
      const reading = this.#opened.reader.readTree(number);
      const tree = reading instanceof Promise ? await reading : reading;
      forEachChild(tree, (kind, offset) => this.#reach(tree, offset, kind === 'tree'));
    }
    return this.#storedBytes - before;
  }

  #reach(ids: Uint8Array, offset: number, isTree: boolean): void {
    const { filter } = this.#opened.state;
    const entry = filter.find(ids, offset);
    if (entry < 0 || !filter.hasLocation(entry) || !this.#reached.add(entry)) return;
    this.#storedBytes += filter.storedBytesOf(entry);
    if (isTree) this.#trees.push(entry);
  }
}

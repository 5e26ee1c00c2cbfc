import { isDamage } from '../../../core/errors.ts';
import { forEachChild } from '../../../core/format/tree/tree.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { SnapshotListing } from '../../../core/repository/read-snapshots.ts';
import { EntrySet } from '../../../core/snapshots/live-walk.ts';

/**
 * Which snapshots need a chunk. All trees are read, each once, and only the links between trees are kept, against their
 * direction: from a chunk, they lead to the snapshots.
 */
export class NeededBy {
  /** The trees in which a tree is, or one of the sought chunks, by number in the filter. */
  readonly #parents = new Map<number, number[]>();
  readonly #snapshots = new Map<number, string[]>();

  /** `sought`: the numbers of chunks in the filter. */
  static async read(
    { state, reader }: Pick<OpenedState, 'state' | 'reader'>,
    listings: readonly SnapshotListing[],
    sought: Iterable<number>,
    pause: () => Promise<void> | undefined,
  ): Promise<NeededBy> {
    const made = new NeededBy();
    const targets = new Set(sought);
    const seen = new EntrySet();
    const open: number[] = [];
    for (const { id, snapshot } of listings) {
      const root = state.filter.find(Buffer.from(snapshot.tree, 'hex'), 0);
      if (root < 0) continue;
      addTo(made.#snapshots, root, id);
      if (seen.add(root)) open.push(root);
    }
    for (let tree = open.pop(); tree !== undefined; tree = open.pop()) {
      const parent = tree;
      try {
        const bytes = await reader.readEntry(parent);
        forEachChild(bytes, (kind, idOffset) => {
          const child = state.filter.find(bytes, idOffset);
          if (child < 0 || (kind !== 'tree' && !targets.has(child))) return;
          addTo(made.#parents, child, parent);
          if (kind === 'tree' && seen.add(child)) open.push(child);
        });
      } catch (error) {
        // What only it contains seems not to be needed. A check reports it.
        if (!isDamage(error)) throw error;
      }
      await pause();
    }
    return made;
  }

  /** The ids of the snapshots that need a chunk, in the order of the listings for each root. */
  snapshotsOf(entry: number): string[] {
    const seen = new Set([entry]);
    const open = [entry];
    const found: string[] = [];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const id of this.#snapshots.get(at) ?? []) found.push(id);
      for (const parent of this.#parents.get(at) ?? []) {
        if (!seen.has(parent)) open.push(parent);
        seen.add(parent);
      }
    }
    return found;
  }
}

function addTo<T>(map: Map<number, T[]>, key: number, value: T): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

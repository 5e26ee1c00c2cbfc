import { isAbsent, isDamage } from '../errors.ts';
import type { FoldedSnapshot } from '../ldm/filter-state.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { readManifest, readManifestCopy } from './manifests.ts';
import type { ReadManifest } from './manifests.ts';

/** Reads the data of snapshots that a filter state keeps, from manifests, manifest copies or checkpoints. */
export class FoldedSnapshots {
  readonly #place: FilePlace;
  /** Snapshots from checkpoints and manifest copies. */
  readonly known: Map<string, FoldedSnapshot>;
  /** Snapshots that cannot be read anywhere, with the reason. */
  readonly damaged: Map<string, string> = new Map();

  constructor(place: FilePlace, known: Map<string, FoldedSnapshot>) {
    this.#place = place;
    this.known = known;
  }

  async read(id: string): Promise<FoldedSnapshot | undefined> {
    try {
      return foldedOf(await readManifest(this.#place, id));
    } catch (error) {
      // Deleted or reclaimed by another process since the listing.
      if (isAbsent(error)) return undefined;
      if (!isDamage(error)) throw error;
      const recalled = await this.recall(id);
      if (recalled === undefined) this.damaged.set(id, error.message);
      return recalled;
    }
  }

  /** Returns a snapshot whose manifest is lost or damaged, from a checkpoint or from the copy of its manifest. */
  async recall(id: string): Promise<FoldedSnapshot | undefined> {
    const known = this.known.get(id);
    if (known !== undefined) return known;
    try {
      const folded = foldedOf(await readManifestCopy(this.#place, id));
      this.known.set(id, folded);
      return folded;
    } catch (error) {
      if (!isAbsent(error) && !isDamage(error)) throw error;
      return undefined;
    }
  }
}

function foldedOf({ bytes, snapshot }: ReadManifest): FoldedSnapshot {
  return { tree: Buffer.from(snapshot.tree, 'hex'), manifest: bytes };
}

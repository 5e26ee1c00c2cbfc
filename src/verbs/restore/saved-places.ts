import { parentOf } from '../../core/files/paths/root-paths.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import { originalDirectory } from './restore-target.ts';

/**
 * The places that a snapshot describes completely: its paths and everything below them. Of the directories above, it has
 * only what leads to its paths.
 */
export class SavedPlaces {
  /** The directory on the machine that was backed up that places are relative to. */
  readonly #directory: ByteString;
  readonly #paths: ReadonlySet<ByteString>;

  /** `placeDirectory`: the directory in the snapshot that is restored. */
  constructor(snapshot: Snapshot, placeDirectory: ByteString) {
    this.#directory = originalDirectory(snapshot, placeDirectory);
    this.#paths = new Set(snapshot.paths);
  }

  /** `path`: relative to the directory that is restored; empty for the directory itself. */
  covers(path: ByteString): boolean {
    let above = path === '' ? this.#directory : joinPath(this.#directory, path);
    while (!this.#paths.has(above)) {
      const next = parentOf(above);
      if (next === above) return false;
      above = next;
    }
    return true;
  }
}

import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';

interface LinkedFile {
  readonly path: ByteString;
  leftCount: number;
}

/** Remembers the first path of each file with several names, until all of its names were seen. */
export class FirstNames {
  readonly #files = new Map<string, LinkedFile>();

  /** Returns the path of an entry that is the same file; undefined if this is the first one. */
  find(path: ByteString, { hardlink, inode }: TreeEntry): ByteString | undefined {
    if (hardlink === undefined) return undefined;
    const key = `${hardlink.device}:${inode}`;
    const known = this.#files.get(key);
    if (known === undefined) {
      this.#files.set(key, { path, leftCount: hardlink.linkCount - 1 });
      return undefined;
    }
    known.leftCount -= 1;
    if (known.leftCount === 0) this.#files.delete(key);
    return known.path;
  }
}

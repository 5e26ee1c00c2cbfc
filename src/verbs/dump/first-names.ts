import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { sameFileKey } from '../../core/snapshots/same-file.ts';

interface LinkedFile {
  /** The first path with each content: more than one if the file changed during the backup. */
  readonly paths: Map<string, ByteString>;
  leftCount: number;
}

/** Remembers the first path of each file with several names, until all of its names were seen. */
export class FirstNames {
  readonly #files = new Map<string, LinkedFile>();

  /** Returns the path of an entry that is the same file with the same content; undefined if this is the first one. */
  find(path: ByteString, entry: TreeEntry): ByteString | undefined {
    const { hardlink, inode } = entry;
    const content = sameFileKey(entry);
    if (hardlink === undefined || content === undefined) return undefined;
    const key = `${hardlink.device}:${inode}`;
    const known = this.#files.get(key);
    if (known === undefined) {
      this.#files.set(key, { paths: new Map([[content, path]]), leftCount: hardlink.linkCount - 1 });
      return undefined;
    }
    known.leftCount -= 1;
    if (known.leftCount === 0) this.#files.delete(key);
    const first = known.paths.get(content);
    if (first === undefined) known.paths.set(content, path);
    return first;
  }
}

import type { TreeEntry } from '../../core/format/tree/tree-entry.ts';
import type { TreeEncoder } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { BackupTally } from '../../core/saving/backup-tally.ts';
import type { TreeSaver } from '../../core/saving/tree-saver.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { isDirectory } from './import-tree.ts';
import type { ImportTree, ImportedDirectory, ImportedLinks } from './import-tree.ts';
import { impliedDirectory } from './imported-entry.ts';

interface Services {
  readonly tree: ImportTree;
  readonly trees: TreeSaver;
  readonly tally: BackupTally;
  readonly pacer: Pacer;
  /** The time of directories that the archive does not have. */
  readonly timeMs: number;
}

/** A directory that is being stored. */
interface OpenDirectory {
  readonly name: ByteString;
  readonly directory: ImportedDirectory;
  /** In byte order. */
  readonly names: readonly ByteString[];
  readonly encoder: TreeEncoder;
  next: number;
}

/** Stores the trees of an archive, each after those below it. */
export class ImportedTrees {
  readonly #services: Services;
  #lastInode = 0;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Returns the id of the tree of a directory. */
  async save(top: ImportedDirectory): Promise<Uint8Array> {
    const { trees, tally, pacer } = this.#services;
    const open = [this.#open('' as ByteString, top)];
    for (;;) {
      const current = open.at(-1)!;
      const name = current.names[current.next];
      current.next += 1;
      if (name === undefined) {
        open.pop();
        const treeId = await trees.save(current.encoder, undefined);
        const parent = open.at(-1);
        if (parent === undefined) return treeId;
        const entry = this.#entryOfDirectory(current, treeId);
        tally.countDirectory(entry, undefined);
        parent.encoder.add(entry);
        await pacer.pause();
        continue;
      }
      const imported = current.directory.names.get(name)!;
      if (isDirectory(imported)) open.push(this.#open(name, imported));
      else this.#add(current.encoder, this.#entryOf(name, imported));
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  #open(name: ByteString, directory: ImportedDirectory): OpenDirectory {
    const names = [...directory.names.keys()].sort();
    return { name, directory, names, encoder: this.#services.trees.begin(undefined, names.length), next: 0 };
  }

  #add(encoder: TreeEncoder, entry: TreeEntry): void {
    const { tally } = this.#services;
    if (entry.type === 'file') tally.countFile(entry, undefined, false);
    else tally.countOther(entry, undefined);
    encoder.add(entry);
  }

  #entryOf(name: ByteString, imported: ImportedLinks | number): TreeEntry {
    const { tree } = this.#services;
    if (typeof imported === 'number') return tree.entryOf(imported);
    const entry = { ...tree.entryOf(imported.handle).decode(), name };
    if (imported.count < 2) return entry;
    if (imported.inode === 0) imported.inode = ++this.#lastInode;
    return { ...entry, inode: BigInt(imported.inode), hardlink: { device: 0n, linkCount: imported.count } };
  }

  #entryOfDirectory({ name, directory }: OpenDirectory, treeId: Uint8Array): TreeEntry {
    const { tree, timeMs } = this.#services;
    if (directory.handle === undefined) return impliedDirectory(name, treeId, timeMs);
    return { ...tree.entryOf(directory.handle).decode(), treeId };
  }
}

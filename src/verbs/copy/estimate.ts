import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import type { CopierServices } from './content-copier.ts';
import type { SnapshotCopier } from './snapshot-copier.ts';
import { walkUnknown } from './unknown-walk.ts';

/** What a snapshot adds to a repository. */
export interface CopyAmount {
  /** Files with chunks that were not copied before. */
  readonly fileCount: number;
  readonly chunkCount: number;
  readonly treeCount: number;
  /** Of chunks and trees, before compression. */
  readonly bytes: number;
}

/** Predicts what copies of snapshots will add, one after the other, from trees alone. */
export class CopyEstimate {
  readonly #services: CopierServices;
  readonly #copier: SnapshotCopier;
  readonly #isThere: (treeId: Uint8Array) => boolean;
  /** The chunks and trees that snapshots before add. */
  readonly #added = new EntrySet();
  /** Of the chunks of files, of all snapshots so far. */
  dataBytes = 0;

  /** `isThere`: whether the destination has a tree of the source. Only trees with the same ids are ever there. */
  constructor(services: CopierServices, copier: SnapshotCopier, isThere: (treeId: Uint8Array) => boolean) {
    this.#services = services;
    this.#copier = copier;
    this.#isThere = isThere;
  }

  /** @throws SourceDamage */
  async add(root: Uint8Array): Promise<CopyAmount> {
    const { contents, trees } = this.#copier;
    const { filter } = this.#services.source.state;
    const amount = { fileCount: 0, chunkCount: 0, treeCount: 0, bytes: 0 };
    const id = new Uint8Array(CHUNK_ID_BYTES);
    await walkUnknown(this.#services, root, {
      isKnownTree: (entry) => trees.has(entry) || this.#added.has(entry),
      file: (content) => {
        if (contents.knows(content)) return undefined;
        const fresh = content.filter((entry) => contents.isNew(entry) && this.#added.add(entry));
        if (fresh.length > 0) amount.fileCount += 1;
        amount.chunkCount += fresh.length;
        const freshBytes = fresh.reduce((total, entry) => total + filter.lengthOf(entry), 0);
        amount.bytes += freshBytes;
        this.dataBytes += freshBytes;
        return undefined;
      },
      tree: (entry) => {
        this.#added.add(entry);
        filter.copyId(entry, id, 0);
        if (this.#isThere(id)) return;
        amount.treeCount += 1;
        amount.bytes += filter.lengthOf(entry);
      },
    });
    return amount;
  }
}

import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { rewriteTree } from '../../core/format/tree/tree-copy.ts';
import type { ContentCopier, CopierServices } from './content-copier.ts';
import { IdMap } from './id-map.ts';
import { awaitSource, readSource } from './source-damage.ts';
import { walkUnknown } from './unknown-walk.ts';

/** Copies everything below the roots of snapshots: first the contents of files, then the trees with the new ids. */
export class SnapshotCopier {
  /** The ids of the trees that are in the destination with everything below them. */
  readonly trees: IdMap = new IdMap();
  readonly contents: ContentCopier;
  /** The files with chunks that were not copied before. */
  fileCount = 0;
  readonly #services: CopierServices;

  constructor(services: CopierServices, contents: ContentCopier) {
    this.#services = services;
    this.contents = contents;
  }

  /**
   * Copies what is missing below a root. Returns the id of the root in the destination.
   * @throws SourceDamage
   */
  async copy(root: Uint8Array): Promise<Uint8Array> {
    try {
      for (const entry of await this.#copyContents(root)) await this.#copyTree(entry);
    } catch (error) {
      this.contents.forgetPlan();
      throw error;
    }
    return this.trees.get(this.#services.source.reader.entryOf(root, 0))!;
  }

  /** Returns the trees to be copied, each after those below it. */
  async #copyContents(root: Uint8Array): Promise<readonly number[]> {
    const trees: number[] = [];
    await walkUnknown(this.#services, root, {
      isKnownTree: (entry) => this.trees.has(entry),
      tree: (entry) => void trees.push(entry),
      file: (content) => {
        if (this.contents.knows(content)) return undefined;
        if (this.contents.plan(content)) this.fileCount += 1;
        return this.contents.isPlanFull ? this.contents.copyPlanned() : undefined;
      },
    });
    await this.contents.copyPlanned();
    return trees;
  }

  async #copyTree(entry: number): Promise<void> {
    const { source, hasher, chunks, work, pacer } = this.#services;
    const tree = await awaitSource(() => source.reader.readTree(entry));
    const { bytes, memory } = readSource(() => rewriteTree(tree, this.#idsOfCopy, this.#allocate));
    const id = hasher.treeId(bytes);
    await chunks.putLarge(id, { buffer: memory, lengthBytes: bytes.length });
    this.trees.add(entry, id);
    work.addTree(bytes.length);
    const pause = pacer.pause();
    if (pause !== undefined) await pause;
  }

  readonly #allocate = (sizeBytes: number): Buffer => this.#services.chunks.allocate(sizeBytes);

  /** All of it is known by now. */
  readonly #idsOfCopy = {
    treeId: (id: Uint8Array): Uint8Array => this.trees.get(this.#services.source.reader.entryOf(id, 0))!,
    chunkIds: (ids: Uint8Array): Uint8Array => this.contents.idsOf(this.#entriesOf(ids)),
  };

  #entriesOf(ids: Uint8Array): number[] {
    const { reader } = this.#services.source;
    const entries: number[] = [];
    for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES) entries.push(reader.entryOf(ids, offset));
    return entries;
  }
}

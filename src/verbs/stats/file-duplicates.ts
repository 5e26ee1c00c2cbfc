import { createHash } from 'node:crypto';

import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { forEachFile } from '../../core/format/tree/tree.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { LdmFilter } from '../../core/ldm/ldm-filter.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';

/** What a store of whole files would keep: each distinct content once. */
export interface DistinctFiles {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Counts the distinct contents among the files of all live trees. Reads each tree once.
 * @throws CorruptDataError if a tree cannot be read
 */
export async function measureDistinctFiles({ state, reader }: OpenedState, pacer: Pacer): Promise<DistinctFiles> {
  const contents = new ContentSet(state.filter);
  const trees: number[] = [];
  state.filter.forEachEntry((entry, isLive) => {
    if (isLive && isTree(state, entry)) trees.push(entry);
  });
  for (const entry of trees) {
    await pacer.pause();
    const reading = reader.readTree(entry);
    const tree = reading instanceof Promise ? await reading : reading;
    forEachFile(tree, (sizeBytes, start, end) => contents.add(sizeBytes, tree.subarray(start, end)));
  }
  return contents;
}

function isTree({ filter, packs }: FilterState, entry: number): boolean {
  return filter.hasLocation(entry) && packs.get(filter.packIndexOf(entry)).kind === 'tree';
}

/** Most files have one chunk: these take one bit of memory, others about 100 bytes. */
class ContentSet implements DistinctFiles {
  count = 0;
  bytes = 0;
  readonly #filter: LdmFilter;
  readonly #chunks = new EntrySet();
  readonly #others = new Set<string>();

  constructor(filter: LdmFilter) {
    this.#filter = filter;
  }

  add(sizeBytes: number, chunkIds: Uint8Array): void {
    if (!this.#isNew(chunkIds)) return;
    this.count += 1;
    this.bytes += sizeBytes;
  }

  #isNew(chunkIds: Uint8Array): boolean {
    const entry = chunkIds.length === CHUNK_ID_BYTES ? this.#filter.find(chunkIds, 0) : -1;
    if (entry >= 0) return this.#chunks.add(entry);
    const before = this.#others.size;
    return this.#others.add(createHash('sha1').update(chunkIds).digest('base64')).size > before;
  }
}

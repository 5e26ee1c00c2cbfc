import type { TargetContent } from '../../core/files/target/target-content.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Pacer } from '../../core/util/pacer.ts';

interface ComparisonOptions {
  readonly state: OpenedState['state'];
  readonly hasher: Repository['hasher'];
  readonly pacer: Pacer;
}

const ID_BYTES = 20;

/** Compares files at the target with the chunks that they should have, whose lengths and ids are known. */
export class ContentComparison {
  readonly #options: ComparisonOptions;
  #buffer = Buffer.allocUnsafe(1 << 20);

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /**
   * Returns the number of bytes in chunks that are the same, and calls `onDifferent` with the index of each other chunk.
   * @param entries - the numbers of the chunks in the filter
   */
  async compare(
    content: TargetContent,
    entries: readonly number[],
    onDifferent: (index: number) => void,
  ): Promise<number> {
    const { state, hasher, pacer } = this.#options;
    const id = new Uint8Array(ID_BYTES);
    let offset = 0;
    let sameBytes = 0;
    for (const [index, entry] of entries.entries()) {
      const lengthBytes = state.filter.lengthOf(entry);
      if (lengthBytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(lengthBytes);
      const bytes = this.#buffer.subarray(0, lengthBytes);
      state.filter.copyId(entry, id, 0);
      if (content.fill(bytes, offset) && Buffer.compare(hasher.dataId(bytes), id) === 0) sameBytes += lengthBytes;
      else onDifferent(index);
      offset += lengthBytes;
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    return sameBytes;
  }
}

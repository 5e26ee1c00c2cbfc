import { closeSync } from 'node:fs';
import { TargetError } from '../../core/errors.ts';
import { fileStateOf } from '../../core/files/target/hard-link.ts';
import { TargetContent } from '../../core/files/target/target-content.ts';
import { isPatchable, openForPatch } from '../../core/files/target/target-patch.ts';
import type { FilePatch } from '../../core/files/target/target-patch.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { ContentComparison } from './content-comparison.ts';

/** Smaller files are written as a whole. */
const SIZE_BYTES_MIN = 1 << 20;

/** A patch whose content is still to be read. */
export interface PlannedPatch extends FilePatch {
  /** The numbers of the chunks in the filter that the file lacks, and where they belong. */
  readonly entries: readonly number[];
  readonly offsets: readonly number[];
  readonly keptBytes: number;
}

/**
 * Finds out what to write to a large file that exists, if at least half of its content is there already, and its owner,
 * mode and attributes are right. Other files are replaced as a whole: then the path always holds a whole file, old or new.
 */
export class InPlace {
  readonly #state: OpenedState['state'];
  readonly #comparison: ContentComparison;
  readonly #policy: TargetPolicy;

  constructor(state: OpenedState['state'], comparison: ContentComparison, policy: TargetPolicy) {
    this.#state = state;
    this.#comparison = comparison;
    this.#policy = policy;
  }

  /** Returns no promise for a file that is certainly replaced. `chunks`: the numbers of its chunks in the filter. */
  plan(path: ByteString, entry: TreeEntry, chunks: readonly number[]): Promise<PlannedPatch | undefined> | undefined {
    // Holes would have to be made again, and another name of the file would change too.
    const isCandidate = entry.sizeBytes >= SIZE_BYTES_MIN && entry.hardlink === undefined && entry.holes.length === 0;
    return isCandidate ? this.#compare(path, entry, chunks) : undefined;
  }

  async #compare(path: ByteString, entry: TreeEntry, chunks: readonly number[]): Promise<PlannedPatch | undefined> {
    let content: TargetContent | undefined;
    try {
      content = new TargetContent(path);
      if (!content.hasOneName || !isWritable(path)) return undefined;
      if (!isPatchable(content.descriptor, entry, this.#policy)) return undefined;
      const state = fileStateOf(content.descriptor);
      const missing: number[] = [];
      const keptBytes = await this.#comparison.compare(content, chunks, (index) => missing.push(index));
      return keptBytes * 2 < entry.sizeBytes ? undefined : { state, keptBytes, ...this.#partsOf(chunks, missing) };
    } catch (error) {
      // A file that cannot be read can still be replaced.
      if (!(error instanceof TargetError)) throw error;
      return undefined;
    } finally {
      content?.close();
    }
  }

  /** `missing`: indexes of chunks, in ascending order. */
  #partsOf(
    chunks: readonly number[],
    missing: readonly number[],
  ): Pick<PlannedPatch, 'entries' | 'offsets' | 'ranges'> {
    const entries: number[] = [];
    const offsets: number[] = [];
    const ranges: { start: number; end: number }[] = [];
    let next = 0;
    let offset = 0;
    for (const [index, entry] of chunks.entries()) {
      const end = offset + this.#state.filter.lengthOf(entry);
      if (missing[next] === index) {
        next += 1;
        entries.push(entry);
        offsets.push(offset);
        const last = ranges.at(-1);
        if (last?.end === offset) last.end = end;
        else ranges.push({ start: offset, end });
      }
      offset = end;
    }
    return { entries, offsets, ranges };
  }
}

/** Returns false for a file that is being executed, and for one that we may replace but not change. */
function isWritable(path: ByteString): boolean {
  try {
    closeSync(openForPatch(path));
    return true;
  } catch {
    return false;
  }
}

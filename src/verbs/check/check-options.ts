import type { ReadData } from '../../core/damage/pack-selector.ts';
import type { OptionKinds } from '../../core/session/arguments.ts';
import { FILTER_KINDS } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export interface CheckOptions {
  /** Reads every byte of every pack, or of part `part` of `of`. By default only sizes and footers are read. */
  readonly readData?: ReadData;
  /** Says which packs were read before, so that they are left out. A pack never changes. */
  readonly isKnown?: (repositoryId: string) => (packId: string) => boolean;
  /**
   * Reads the packs that were not verified within so many milliseconds, and records in the repository which packs were:
   * the only thing that a check writes. A share or a size as `readData` limits how much is read.
   */
  readonly maxAgeMs?: number;
  /** With `maxAgeMs`: how much is verified before that is recorded, for a check that is interrupted. Default: 256 MiB. */
  readonly recordEveryBytes?: number;
  /** The clock for `maxAgeMs`. Default: that of this machine. */
  readonly now?: () => number;
  /** Only the snapshots with these names and what they need: ids, `latest` or `latest~N`. */
  readonly selectors?: readonly string[];
  /** Only the snapshots that match, and what they need. */
  readonly filter?: SnapshotFilter;
}

export const CHECK_KINDS: OptionKinds<Required<CheckOptions>> = {
  readData: 'readData',
  isKnown: 'call',
  maxAgeMs: 'number',
  recordEveryBytes: 'number',
  now: 'call',
  selectors: 'texts',
  filter: FILTER_KINDS,
};

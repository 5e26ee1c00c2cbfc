import type { FetchedChunk } from '../../core/healing/domain-chunks.ts';
import type { OptionKinds } from '../../core/session/arguments.ts';
import type { ChunkSource } from '../../core/session/chunk-source.ts';
import { FILTER_KINDS } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { PathInput } from '../../core/util/byte-string.ts';
import type { MetadataOptions } from './metadata-options.ts';
import type { SelectionPatterns } from './path-selection.ts';
import type { RestoredEntry } from './restore-result.ts';
import type { TargetOptions } from './restore-target.ts';

/**
 * Patterns are compared with the recorded absolute paths, or with paths below the directory that the selector names.
 * Directories that lead to included files are created too.
 */
export interface RestoreOptions extends TargetOptions, SelectionPatterns, MetadataOptions {
  /** `ID[:path]`, `latest`, `latest~N`. The path of a directory selects what is in it. */
  readonly selector: PathInput;
  readonly filter?: SnapshotFilter;
  /** Leaves runs of zeros in large files unwritten, as holes. */
  readonly sparse?: boolean;
  readonly dryRun?: boolean;
  /** Reads the files back at the end, also those that existed and look the same, and compares them with the snapshot. */
  readonly verify?: boolean;
  /** The memory for what waits for blocks: with less, blocks are read more often. Default: 64 MiB. */
  readonly planBytesMax?: number;
  /** Called with each entry, in no particular order. In a dry run, with what would be done. */
  readonly onEntry?: (entry: RestoredEntry) => void;
  /** Where to fetch what is missing or damaged in the repository, which stays as it is. */
  readonly fromDomains?: ChunkSource;
  /** Called once with each fetched chunk, in no particular order. */
  readonly onFetched?: (chunk: FetchedChunk) => void;
}

export const RESTORE_KINDS: OptionKinds<Required<RestoreOptions>> = {
  selector: 'path!',
  filter: FILTER_KINDS,
  target: 'path',
  original: 'flag',
  overwrite: ['never', 'if-changed', 'if-newer', 'always'],
  delete: 'flag',
  include: 'texts',
  iinclude: 'texts',
  exclude: 'texts',
  iexclude: 'texts',
  owner: 'flag',
  ownerByName: 'flag',
  xattr: 'flag',
  includeXattr: 'texts',
  excludeXattr: 'texts',
  sparse: 'flag',
  dryRun: 'flag',
  verify: 'flag',
  planBytesMax: 'number',
  onEntry: 'call',
  fromDomains: 'source',
  onFetched: 'call',
};

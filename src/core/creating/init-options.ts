import type { ChunkerParameters } from '../chunking/chunker.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { CopyRules } from '../format/group-list.ts';
import type { NewGroup } from '../repository/groups/group-changes.ts';
import type { OptionKinds } from '../session/arguments.ts';
import type { OtherRepository } from '../session/context.ts';
import type { RealmFile } from '../session/extension.ts';

export interface InitOptions {
  readonly chunker?: ChunkerParameters;
  readonly chunkHash?: 'sha1' | 'sha256';
  readonly packHash?: RepositoryConfig['packHash'];
  /** The false positive rate that the filter must stay below. */
  readonly fpr?: number;
  readonly hashes?: number;
  /** The number of chunks to size the filter for. It grows beyond that when needed. */
  readonly capacity?: number;
  /** The zstd level, -7 to 22. */
  readonly compressionLevel?: number;
  /** Keeps its packs in these places. More can be added, but a repository without groups cannot get any. */
  readonly groups?: readonly NewGroup[];
  /** In how many groups each pack should be. Default: 1. */
  readonly copies?: number;
  /** More copies of packs with a chunk that the files of all snapshots need at least `refs` times. */
  readonly copiesIfRefs?: CopyRules['copiesIfRefs'];
  /** Nothing is ever removed from it, unless that is asked for explicitly. */
  readonly appendOnly?: boolean;
  /** Accepts a place where several clients cannot exclude each other. */
  readonly singleWriter?: boolean;
  /**
   * Takes all parameters that are not given from this repository, also its keys of ids and chunk boundaries if both are
   * encrypted or both are not. A copy from one to the other need not cut files again then.
   */
  readonly copyParametersFrom?: OtherRepository;
  /** Takes chunker, chunk hash and keys from this realm key file, so that it can join the realm. */
  readonly realm?: RealmFile;
  /**
   * Whether the repository is encrypted with the password of the context: always (the user may be asked for it), only
   * if a source is configured (default), or never.
   */
  readonly encryption?: 'always' | 'if-configured' | 'never';
}

export const INIT_KINDS: OptionKinds<Required<InitOptions>> = {
  chunker: 'object',
  chunkHash: ['sha1', 'sha256'],
  packHash: ['blake3', 'sha256'],
  fpr: 'number',
  hashes: 'positive',
  capacity: 'positive',
  compressionLevel: 'integer',
  groups: 'objects',
  copies: 'positive',
  copiesIfRefs: 'object',
  appendOnly: 'flag',
  singleWriter: 'flag',
  copyParametersFrom: 'other',
  realm: 'object',
  encryption: ['always', 'if-configured', 'never'],
};

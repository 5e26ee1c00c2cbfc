import type { OwnerNames } from '../../files/owner-names.ts';
import type { Pacer } from '../context.ts';
import type { BackupTally } from './backup-tally.ts';
import type { EntryListing } from './entry-listing.ts';
import type { Exclusion } from './exclusion.ts';
import type { FileStore } from './file-store.ts';
import type { OwnRepository } from './own-repository.ts';
import type { ParentTrees } from './parent-tree.ts';
import type { ProblemReport } from './problems.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { TreeSaver } from './tree-saver.ts';

/** The services that a walk over the sources uses. */
export interface WalkServices {
  readonly parentTrees: ParentTrees;
  readonly files: FileStore;
  readonly ahead: ReadAhead;
  readonly owners: OwnerNames;
  readonly trees: TreeSaver;
  readonly tally: BackupTally;
  readonly exclusion: Exclusion;
  readonly ownRepository: OwnRepository;
  readonly pacer: Pacer;
  readonly problems: ProblemReport;
  /** Undefined unless the caller wants a list of all entries. */
  readonly listing: EntryListing | undefined;
}

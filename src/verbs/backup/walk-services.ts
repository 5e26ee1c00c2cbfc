import { EntryListing } from '../../core/saving/entry-listing.ts';
import { ProblemReport } from '../../core/sources/problem-report.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { OwnRepository } from '../../core/sources/own-repository.ts';
import { Exclusion } from '../../core/sources/exclusion.ts';
import type { ChangingFiles } from '../../core/saving/changing-files.ts';
import { BackupTally } from '../../core/saving/backup-tally.ts';
import { Continuation } from './continuation.ts';
import { TreeSaver } from '../../core/saving/tree-saver.ts';
import { AttributeSource } from '../../core/sources/attribute-source.ts';
import type { OwnerNames } from '../../core/files/native/owner-names.ts';
import { ReadAhead } from './read-ahead.ts';
import { FileStore } from './file-store.ts';
import { ParentTrees } from '../../core/sources/parent-tree.ts';

/** The services that a walk over the sources uses. */
export interface WalkServices {
  readonly parentTrees: ParentTrees;
  readonly files: FileStore;
  readonly changing: ChangingFiles;
  readonly ahead: ReadAhead;
  readonly owners: OwnerNames;
  /** What is recorded besides what always is. */
  readonly recorded: { readonly withAccessTime: boolean };
  readonly attributes: AttributeSource;
  readonly trees: TreeSaver;
  readonly continuation: Continuation;
  readonly tally: BackupTally;
  readonly exclusion: Exclusion;
  readonly ownRepository: OwnRepository;
  readonly pacer: Pacer;
  readonly problems: ProblemReport;
  /** Undefined unless the caller wants a list of all entries. */
  readonly listing: EntryListing | undefined;
}

/**
 * What to do about an error, where that is a command or an option: the command line knows the words. `subject`: the
 * place or the snapshot that it is about.
 */
export type Advice = { readonly code: AdviceCode } | { readonly code: SubjectAdviceCode; readonly subject: string };

/** Advice that is the same everywhere. */
export type AdviceCode =
  | 'repair'
  | 'repair-and-repeat'
  | 'repair-keeps-good-copy'
  | 'check-data'
  | 'copy-and-check'
  | 'check-and-repair'
  | 'check-details-and-repair'
  | 'check-data-and-repair'
  | 'check-removed-and-repair'
  | 'check-repair-or-back-up'
  | 'check-repair-or-name-id'
  | 'tell-configurations-apart'
  | 'restore-or-forget-snapshot'
  | 'restore-directory-or-forget-snapshot'
  | 'choose-other-place'
  | 'choose-other-destination'
  | 'mount-or-create-repository'
  | 'wait-for-lock'
  | 'take-over-lock'
  | 'list-snapshots'
  | 'list-deleted-snapshots'
  | 'name-snapshots'
  | 'name-one-snapshot'
  | 'choose-snapshot-to-delete'
  | 'give-path-as-listed'
  | 'free-space-and-repeat-restore'
  | 'name-sources'
  | 'use-exported-filter'
  | 'give-password'
  | 'give-other-password'
  | 'give-destination-password'
  | 'override-append-only'
  | 'leave-password-out'
  | 'import-key'
  | 'list-keys'
  | 'keep-another-key'
  | 'give-new-password';

/** Advice about a place or a snapshot. */
export type SubjectAdviceCode = 'create-repository' | 'create-destination' | 'list-files';

import { CancelledError } from '../core/errors.ts';
import type { LdmError } from '../core/errors.ts';
import type { BackupResult } from '../verbs/backup/backup.ts';
import type { CopyResult } from '../verbs/copy/copy.ts';
import type { CheckResult } from '../verbs/check/check.ts';
import type { DiffResult } from '../verbs/diff/diff.ts';
import type { GroupLoss } from '../verbs/group/group-lost.ts';
import type { GroupRecovery } from '../verbs/group/group-recover.ts';
import type { GroupMoves } from '../core/copies/group-moves.ts';
import type { HaveResult } from '../verbs/have/have.ts';
import type { LocateResult } from '../realm/verbs/locate/locate.ts';
import type { RepairResult } from '../verbs/repair/repair.ts';
import type { RestoreResult } from '../verbs/restore/restore.ts';

/** The meaning of exit codes in any command; scripts depend on them. Any other code means failure. */
export const EXIT_CODES: ReadonlyMap<number, string> = new Map([
  [0, 'success'],
  [1, 'error'],
  [2, 'wrong usage'],
  [3, 'done, except for files that could not be read or written'],
  [4, 'the repository is damaged'],
  [5, 'an id, or the content of a file, is definitely absent'],
  [10, 'no repository'],
  [11, 'the repository is locked'],
  [12, 'no password, a wrong one, or one for a repository that is not encrypted'],
  [130, 'interrupted by SIGINT (129: SIGHUP, 143: SIGTERM)'],
]);

export const ALL_EXIT_CODES: readonly number[] = [...EXIT_CODES.keys()];
/** The exit codes of every command that opens a repository. */
export const REPOSITORY_EXIT_CODES: readonly number[] = [0, 1, 2, 10, 11, 12, 130];
/** Of commands that move packs between groups, or give one up. */
export const EXIT_CODES_OF_MOVES: readonly number[] = [0, 1, 2, 4, 10, 11, 12, 130];
/** Of commands that read a repository without a lock. */
export const UNLOCKED_EXIT_CODES: readonly number[] = REPOSITORY_EXIT_CODES.filter((code) => code !== 11);

export const EXIT_SUCCESS = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
const EXIT_INCOMPLETE = 3;
const EXIT_DAMAGED = 4;
export const EXIT_ABSENT = 5;
/** Interrupted by SIGHUP. */
export const EXIT_HANGUP = 129;

/** By the code of the error. All other errors mean failure. */
const ERROR_EXIT_CODES: ReadonlyMap<string, number> = new Map([
  ['USAGE', EXIT_USAGE],
  ['REPOSITORY_NOT_FOUND', 10],
  ['REPOSITORY_LOCKED', 11],
  ['NO_PASSWORD', 12],
  ['WRONG_PASSWORD', 12],
  ['NOT_ENCRYPTED', 12],
]);

/** As a shell reports them: 128 + signal number. */
const SIGNAL_EXIT_CODES = { SIGHUP: EXIT_HANGUP, SIGINT: 130, SIGTERM: 143 } as const;

export function exitCodeOfError(error: LdmError): number {
  if (error instanceof CancelledError) return SIGNAL_EXIT_CODES[error.signal];
  return ERROR_EXIT_CODES.get(error.code) ?? EXIT_FAILURE;
}

export function exitCodeOfBackup({ problems, verified }: Pick<BackupResult, 'problems' | 'verified'>): number {
  if (verified !== undefined && verified.wrongCount > 0) return EXIT_DAMAGED;
  return problems.length > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}

export function exitCodeOfCheck({ findings }: Pick<CheckResult, 'findings'>): number {
  return findings.some(({ severity }) => severity === 'error') ? EXIT_DAMAGED : EXIT_SUCCESS;
}

/** A dry run ends with the code that the repair will end with. */
export function exitCodeOfRepair({ remaining }: Pick<RepairResult, 'remaining'>): number {
  return remaining.some(({ kind }) => kind !== 'copies-missing') ? EXIT_DAMAGED : EXIT_SUCCESS;
}

/** The codes of problems that mean wrong or missing content; others concern what could not be written. */
const DAMAGE_CODES = new Set(['CORRUPT_DATA', 'BACKEND', 'NOT_VERIFIED']);

export function exitCodeOfRestore({ problems }: Pick<RestoreResult, 'problems'>): number {
  if (problems.length === 0) return EXIT_SUCCESS;
  return problems.some(({ code }) => DAMAGE_CODES.has(code)) ? EXIT_FAILURE : EXIT_INCOMPLETE;
}

/** Differences are no failure; what could not be compared is one. */
export function exitCodeOfDiff({
  unreadableTrees,
  unreadableSources,
}: Pick<DiffResult, 'unreadableTrees' | 'unreadableSources'>): number {
  if (unreadableTrees > 0) return EXIT_FAILURE;
  return unreadableSources > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}

/** What is not there counts more than what could not be read: either way, not everything is known to be there. */
export function exitCodeOfHave({ missingFiles, unreadable }: Pick<HaveResult, 'missingFiles' | 'unreadable'>): number {
  if (missingFiles > 0) return EXIT_ABSENT;
  return unreadable > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}

/** A damaged pack, and one with a damaged copy, stays where it is. */
export function exitCodeOfMoves({ unmoved }: Pick<GroupMoves, 'unmoved'>): number {
  return unmoved.length > 0 ? EXIT_DAMAGED : EXIT_SUCCESS;
}

/** If the group is given up, the command has done what it was told to. */
export function exitCodeOfLoss({ paths, isRemoved }: Pick<GroupLoss, 'paths' | 'isRemoved'>): number {
  return paths.length > 0 && !isRemoved ? EXIT_DAMAGED : EXIT_SUCCESS;
}

/** What is missing is not in the repository that was recovered. */
export function exitCodeOfRecovery({ unreadableNames }: Pick<GroupRecovery, 'unreadableNames'>): number {
  return unreadableNames.length > 0 ? EXIT_DAMAGED : EXIT_SUCCESS;
}

/** A snapshot that cannot be read is not copied. */
export function exitCodeOfCopy({ problems }: Pick<CopyResult, 'problems'>): number {
  return problems.length > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/** Only if every chunk was found, or certainly is nowhere, something certain can be said. */
export function exitCodeOfLocate({ absent, unknown }: Pick<LocateResult, 'absent' | 'unknown'>): number {
  if (absent > 0) return EXIT_ABSENT;
  return unknown > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

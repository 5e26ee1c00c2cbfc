import { CancelledError } from '../core/errors.ts';
import type { LdmError } from '../core/errors.ts';
import type { GroupMoves } from '../core/copies/group-moves.ts';

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
export const EXIT_INCOMPLETE = 3;
export const EXIT_DAMAGED = 4;
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
  if (error instanceof CancelledError) return SIGNAL_EXIT_CODES[error.signal ?? 'SIGINT'];
  return ERROR_EXIT_CODES.get(error.code) ?? EXIT_FAILURE;
}

/** A damaged pack, and one with a damaged copy, stays where it is. */
export function exitCodeOfMoves({ unmoved }: Pick<GroupMoves, 'unmoved'>): number {
  return unmoved.length > 0 ? EXIT_DAMAGED : EXIT_SUCCESS;
}

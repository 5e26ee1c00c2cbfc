/** The meaning of exit codes in any command; scripts depend on them. Any other code means failure. */
export const EXIT_CODES: ReadonlyMap<number, string> = new Map([
  [0, 'success'],
  [1, 'error'],
  [2, 'wrong usage'],
  [3, 'done, except for files that could not be read or written'],
  [4, 'the repository is damaged'],
  [5, 'an id is definitely absent'],
  [10, 'no repository'],
  [11, 'the repository is locked'],
  [130, 'interrupted by SIGINT (129: SIGHUP, 143: SIGTERM)'],
]);

export const ALL_EXIT_CODES: readonly number[] = [...EXIT_CODES.keys()];
/** The exit codes of every command that opens a repository. */
export const REPOSITORY_EXIT_CODES: readonly number[] = [0, 1, 2, 10, 11, 130];

export const EXIT_SUCCESS = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
export const EXIT_INCOMPLETE = 3;
export const EXIT_ABSENT = 5;
/** Interrupted by SIGHUP. */
export const EXIT_HANGUP = 129;

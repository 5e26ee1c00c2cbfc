/** Every exit code with its meaning; scripts depend on them. Any other code means failure. */
export const EXIT_CODES: ReadonlyMap<number, string> = new Map([
  [0, 'success'],
  [1, 'error: a backup saved nothing; a restore left out damaged files'],
  [2, 'wrong usage'],
  [3, 'done, except for files that could not be read or written'],
  [4, 'the repository is damaged'],
  [5, 'an id is definitely absent'],
  [10, 'no repository'],
  [11, 'the repository is locked'],
  [130, 'interrupted by SIGINT (129: SIGHUP, 143: SIGTERM)'],
]);

export const EXIT_SUCCESS = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
export const EXIT_INCOMPLETE = 3;
export const EXIT_ABSENT = 5;
/** Interrupted by SIGHUP. */
export const EXIT_HANGUP = 129;

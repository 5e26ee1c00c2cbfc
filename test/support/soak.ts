/** Whether `npm run soak` runs the tests. It has time for more seeds and rounds than the suite. */
const isSoak = process.env['LDM_SOAK'] !== undefined;
const isFirstPart = (process.env['LDM_SOAK_PART'] ?? '1') === '1';

export function inSoak<T>(soak: T, suite: T): T {
  return isSoak ? soak : suite;
}

/** For what would be the same in each part of a soak, although each part runs the file. */
export function inFirstPart<T>(soak: T, suite: T): T {
  return isSoak && isFirstPart ? soak : suite;
}

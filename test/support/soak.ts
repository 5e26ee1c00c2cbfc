/** Whether `npm run soak` runs the tests. It has time for more seeds and rounds than the suite. */
const isSoak = process.env['LDM_SOAK'] !== undefined;

export function inSoak<T>(soak: T, suite: T): T {
  return isSoak ? soak : suite;
}

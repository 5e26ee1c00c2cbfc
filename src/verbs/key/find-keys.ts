import { RefusedError, UsageError } from '../../core/errors.ts';
import type { KeyListing } from '../../core/repository/keys/key-files.ts';

const ID_START = /^[0-9a-f]{4,64}$/;

/**
 * Finds keys by the first digits of their ids, at least four. Keys that cannot be used have ids too.
 * @throws UsageError
 * @throws RefusedError
 */
export function findKeys({ keys, unusable }: KeyListing, starts: readonly string[]): string[] {
  const ids = [...keys, ...unusable].map(({ id }) => id);
  return [...new Set(starts.map((start) => findKey(ids, start)))];
}

function findKey(ids: readonly string[], start: string): string {
  if (!ID_START.test(start)) {
    throw new UsageError(`${JSON.stringify(start)} is not the id of a key`, { advice: { code: 'list-keys' } });
  }
  const matching = ids.filter((id) => id.startsWith(start));
  if (matching.length === 1) return matching[0]!;
  const problem =
    matching.length === 0
      ? `the repository has no key ${start}`
      : `${start} could be any of ${matching.length} keys: ${matching.map((id) => id.slice(0, 16)).join(', ')}`;
  throw new RefusedError(problem, { advice: { code: 'list-keys' } });
}

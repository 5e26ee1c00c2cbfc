import { RefusedError } from '../../core/errors.ts';
import type { RepositoryConfig } from '../../core/format/config.ts';

/**
 * Returns the id of the realm whose keys a repository has: 64 hex digits.
 * @throws RefusedError if it was created without a realm
 */
export function assertRealm({ realmId }: Pick<RepositoryConfig, 'realmId'>): string {
  if (realmId !== undefined) return realmId;
  throw new RefusedError(
    'the repository was created without a realm: the same data has other chunk ids in it than in the members of a realm',
    { advice: { code: 'copy-to-realm' } },
  );
}

import { MissingPackageError } from '../../core/errors.ts';
import type { AnswerCache } from '../agents/answer-cache.ts';
import type { JoinedRealm } from './realm.ts';

/** Opens the cache of a realm. Undefined if the membership has none, or if its package is not installed any more. */
export async function openCache({ membership, realmId, keys }: JoinedRealm): Promise<AnswerCache | undefined> {
  if (membership.cache === undefined) return undefined;
  const { openAnswerCache } = await import('../agents/answer-cache.ts');
  try {
    return await openAnswerCache(membership.cache, { realmId, keys });
  } catch (error) {
    // `realm join` tells about it; it is never needed.
    if (error instanceof MissingPackageError) return undefined;
    throw error;
  }
}

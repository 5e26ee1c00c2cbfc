import { MissingPackageError } from '../../core/errors.ts';
import type { AnswerCache } from '../agents/answer-cache.ts';
import type { JoinedRealm } from './realm.ts';

/** Opens the cache of a realm. Undefined if the membership has none, or if its package is not installed any more. */
export async function openCache(realm: JoinedRealm): Promise<AnswerCache | undefined> {
  try {
    return await openGiven(realm);
  } catch (error) {
    // `realm join` and `realm status` tell about it; it is never needed.
    if (error instanceof MissingPackageError) return undefined;
    throw error;
  }
}

/** The cache that a membership names, and whether it can be used from here. */
export interface CacheStatus {
  /** Without a password. */
  readonly place: string;
  /** Why it is not used now. Undefined: it answers. */
  readonly problem: string | undefined;
}

/** Asks the cache of a realm for a sign of life. Undefined if the membership has none. */
export async function cacheStatus(realm: JoinedRealm): Promise<CacheStatus | undefined> {
  const { cache } = realm.membership;
  if (cache === undefined) return undefined;
  const { shownCachePlace } = await import('../agents/answer-cache.ts');
  const place = shownCachePlace(cache);
  try {
    const opened = await openGiven(realm);
    try {
      return { place, problem: await opened?.problem() };
    } finally {
      opened?.close();
    }
  } catch (error) {
    if (!(error instanceof MissingPackageError)) throw error;
    return { place, problem: error.message };
  }
}

async function openGiven({ membership, realmId, keys }: JoinedRealm): Promise<AnswerCache | undefined> {
  if (membership.cache === undefined) return undefined;
  const { openAnswerCache } = await import('../agents/answer-cache.ts');
  return await openAnswerCache(membership.cache, { realmId, keys });
}

import { createHash } from 'node:crypto';
import type { StorageGroup } from '../format/group-list.ts';

type Weighted = Pick<StorageGroup, 'id' | 'weight'>;

const UNIT_BITS = 52;

/**
 * Returns the groups in the order in which a pack prefers them: by weighted rendezvous hashing (Thaler and Ravishankar,
 * "Using name-based mappings to increase hit rates", 1998; with weights, each score is -weight / ln(u) of a hash u that
 * is uniform between 0 and 1). So each group is the first for a share of the packs that is proportional to its weight,
 * and a group that is added or removed changes the first place of only the packs that it gains or loses.
 */
export function rankGroups<T>(packId: string, groups: readonly T[], weightedOf: (group: T) => Weighted): T[] {
  const scored = groups.map((group) => ({ group, score: scoreOf(packId, weightedOf(group)) }));
  return scored.sort((a, b) => b.score - a.score).map(({ group }) => group);
}

function scoreOf(packId: string, { id, weight }: Weighted): number {
  const digest = createHash('sha256').update(`${id} ${packId}`).digest();
  const bits = Number(digest.readBigUInt64LE(0) >> BigInt(64 - UNIT_BITS));
  return -weight / Math.log((bits + 0.5) / 2 ** UNIT_BITS);
}

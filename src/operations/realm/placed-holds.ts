import { HOLDS_DIRECTORY, holdName, parseHoldName } from '../../format/layout.ts';
import type { Repository } from '../../repository/repository.ts';

/**
 * The holds of this repository in other domains. Its file is durable before the hold is placed, and is removed after the
 * hold has ended. So a repository ends only holds that it has placed itself: an older or a newer copy of it, at the same
 * place or elsewhere, may have others.
 */
type PlacedHolds = Map<string, Set<string>>;

type Place = Pick<Repository, 'order' | 'assertLocked'>;

/** Notes, durably, that a hold is about to be placed. */
export async function noteHold({ order, assertLocked }: Place, domainId: string, holdId: string): Promise<void> {
  await order.publishNew(holdName(domainId, holdId), Buffer.from(`${holdId}\n`), assertLocked);
}

/** Removes the notes of holds that have ended. */
export async function forgetHolds(
  { order, assertLocked }: Place,
  domainId: string,
  holdIds: readonly string[],
): Promise<void> {
  await order.remove(
    holdIds.map((holdId) => holdName(domainId, holdId)),
    assertLocked,
  );
}

/** Returns the holds, by the id of the domain that has them. */
export async function readPlacedHolds({ files }: Pick<Repository, 'files'>): Promise<PlacedHolds> {
  const placed: PlacedHolds = new Map();
  for (const { name } of await files.list(HOLDS_DIRECTORY)) {
    const { domainId, holdId } = parseHoldName(name);
    placed.set(domainId, (placed.get(domainId) ?? new Set()).add(holdId));
  }
  return placed;
}

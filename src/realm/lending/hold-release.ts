import { CancelledError, LdmError, isDamage } from '../../core/errors.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { findStaying } from '../../core/removing/unindexed-packs.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { borrowedPacksOf, holdsNeededBy, knowsAllLoans } from './borrowed-packs.ts';
import type { Domains } from '../domains/domains.ts';
import { NotOriginalError } from '../domains/own-place.ts';
import { forgetHolds, readHoldKeys, readPlacedHolds } from './placed-holds.ts';
import { readMembership } from '../domains/membership-file.ts';
import { nameOfDomain } from '../domains/realm-access.ts';
import type { RealmAccess } from '../domains/realm-access.ts';

/** Why holds in these domains could not be ended. */
interface NotReleased {
  readonly domainIds: readonly string[];
  /** The name of the domain, or the beginnings of several ids. */
  readonly domain: string;
  readonly reason: string;
  readonly mustJoin: boolean;
}

/**
 * Ends the holds of this repository that no pack of borrowed chunks needs any more, also those that a failed backup has
 * left. Needs the exclusive lock, and that no such pack is about to be removed or to be indexed: a backup that still runs
 * has a hold before it has a pack. If a domain cannot be asked, the next compaction tries again.
 *
 * `onFailure`: by default, a notice.
 */
export async function releaseUnneeded(
  access: RealmAccess,
  onFailure: (failure: NotReleased) => void = ({ domain, reason, mustJoin }) =>
    access.caller.onNotice?.({ kind: 'hold-not-released', domain, reason, mustJoin }),
): Promise<void> {
  const { repository } = access;
  const unneeded = await unneededHolds(access);
  if (unneeded.size === 0) return;
  const report = (domainIds: readonly string[], domain: string, error: unknown): void => {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    onFailure({ domainIds, domain, reason: error.message, mustJoin: error instanceof NotOriginalError });
  };
  try {
    // A domain that has left a realm cannot query it.
    if ((await readMembership(repository)) === undefined) return;
    await access.with(async (domains) => {
      await domains.assertOriginal();
      for (const [domainId, holdIds] of unneeded) {
        try {
          await release(repository, domains, domainId, holdIds);
        } catch (error) {
          report([domainId], nameOfDomain(domains, domainId), error);
        }
      }
    });
  } catch (error) {
    const domainIds = [...unneeded.keys()];
    report(domainIds, domainIds.map((id) => id.slice(0, 8)).join(', '), error);
  }
}

async function release(
  repository: Repository,
  domains: Domains,
  domainId: string,
  holdIds: readonly string[],
): Promise<void> {
  // It was forgotten, and may join again.
  if (!domains.all.some(({ id }) => id === domainId) && !domains.unknown.has(domainId.slice(0, 8))) return;
  const { keys, damage } = await readHoldKeys(repository, domainId, holdIds);
  const { holds } = await domains.peerOf(domainId);
  await repository.assertLocked();
  const { repositoryId } = repository.config;
  await holds.release(repositoryId, [...keys.values()]);
  // The other domain may have ended holds that this one cannot end.
  const left = damage.size === 0 ? [] : await holds.existing(repositoryId, [...damage.keys()]);
  const ended = [...keys.keys(), ...[...damage.keys()].filter((id) => !left.includes(id))];
  await forgetHolds(repository, domainId, ended);
  const [reason] = left.map((id) => damage.get(id)!);
  if (reason !== undefined) throw reason;
}

/**
 * Returns the holds by domain. None if the repository does not know all packs that may need one, or while packs that no
 * segment lists stay: they, or indexed packs that look dead, may be those of a newer state.
 */
async function unneededHolds({ context, repository }: RealmAccess): Promise<ReadonlyMap<string, readonly string[]>> {
  const unneeded = new Map<string, string[]>();
  const placed = await readPlacedHolds(repository);
  if (placed.size === 0) return unneeded;
  const opened = await repository.openState({ listsPacks: true });
  if ((await findStaying(context, repository, opened)) !== undefined) return unneeded;
  const needed = knowsAllLoans(opened) ? await readNeeded(repository, opened) : undefined;
  if (needed === undefined) return unneeded;
  for (const [domainId, holdIds] of placed) {
    const going = [...holdIds].filter((id) => needed.get(domainId)?.has(id) !== true);
    if (going.length > 0) unneeded.set(domainId, going);
  }
  return unneeded;
}

/** Returns undefined if a pack is damaged, because the hold it needs is unknown. */
async function readNeeded(
  repository: Repository,
  { state }: OpenedState,
): Promise<Awaited<ReturnType<typeof holdsNeededBy>> | undefined> {
  try {
    return await holdsNeededBy(repository, borrowedPacksOf(state));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

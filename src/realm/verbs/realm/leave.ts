import { assertContext } from '../../../core/session/arguments.ts';
import { RefusedError } from '../../../core/errors.ts';
import { removeMembership } from '../../domains/membership-file.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import { waitingContext } from '../../../core/session/context.ts';
import { withRepository } from '../../../core/session/session.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { findStaying } from '../../../core/removing/unindexed-packs.ts';
import { formatTime } from '../../../core/util/format-time.ts';
import { borrowedPacksOf, knowsAllLoans } from '../../lending/borrowed-packs.ts';
import { RealmAccess } from '../../domains/realm-access.ts';
import { releaseUnneeded } from '../../lending/hold-release.ts';
import { readPlacedHolds } from '../../lending/placed-holds.ts';
import { assertOriginal } from '../../domains/own-place.ts';
import { withRealm } from '../../domains/realm.ts';
import type { OpenRealm } from '../../domains/realm.ts';

export interface LeaveResult {
  readonly realmId: string;
  readonly name: string;
  /** The domains that still keep chunks for this one, which no longer needs them. */
  readonly holdsKept: readonly HoldsKept[];
}

export interface HoldsKept {
  readonly domainId: string;
  /** Undefined if it is not a member of the realm. */
  readonly name: string | undefined;
  readonly holds: number;
  /** Why they could not be ended. */
  readonly reason: string;
}

/**
 * Leaves the realm: the others no longer ask this domain. Its repository keeps the keys of the realm, and can join again.
 * @throws RefusedError if it relies on another domain, or may rely on one, or another one on it
 * @throws CoordinatorError
 */
export async function leaveRealm(context: OperationContext): Promise<LeaveResult> {
  assertContext(context);
  // No other process may begin to rely on a domain meanwhile.
  const leaving = withRepository(waitingContext(context), 'exclusive', async (repository) =>
    withRealm(repository, async (realm) => {
      await assertIndependent(context, repository);
      const holdsKept = await endHolds(context, repository, realm);
      // A copy must not end the membership of the original. One that was forgotten has no record.
      if ((await realm.records.memberOf(realm.domainId)) !== undefined) await assertOriginal(context, realm);
      await removeDomain(realm, realm.domainId);
      await removeMembership(repository);
      return { realmId: realm.realmId, name: realm.membership.name, holdsKept };
    }),
  );
  return await leaving.catch((error: unknown) => {
    // The server says so only when it is connected.
    if (!(error instanceof RefusedError) || context.backend.isAppendOnly !== true) throw error;
    throw new RefusedError(
      'the server is append-only: it lets nobody remove the file `realm`, which ends a membership',
      {
        advice: { code: 'leave-at-storage' },
        cause: error,
      },
    );
  });
}

/**
 * Ends what failed backups have left elsewhere. Returns what could not be ended: no later command tries that again, unless
 * the repository joins again.
 */
async function endHolds(
  context: OperationContext,
  repository: Repository,
  { records }: OpenRealm,
): Promise<readonly HoldsKept[]> {
  const reasons = new Map<string, string>();
  await releaseUnneeded(new RealmAccess(context, repository), ({ domainIds, reason }) => {
    for (const id of domainIds) reasons.set(id, reason);
  });
  const kept: HoldsKept[] = [];
  for (const [domainId, { size: holds }] of await readPlacedHolds(repository)) {
    const name = (await records.memberOf(domainId))?.name;
    kept.push({ domainId, name, holds, reason: reasons.get(domainId) ?? 'it is not a member of the realm' });
  }
  return kept;
}

async function assertIndependent(context: OperationContext, repository: Repository): Promise<void> {
  const { listings } = await repository.files.readSnapshots();
  const holders = new Set(listings.flatMap(({ snapshot: { hold } }) => (hold === undefined ? [] : [hold.name])));
  if (holders.size > 0) {
    throw new RefusedError(`this repository keeps chunks for other domains: ${[...holders].join(', ')}`, {
      advice: { code: 'release-hold' },
    });
  }
  const opened = await repository.openState({ listsPacks: true });
  if (!knowsAllLoans(opened)) {
    throw new RefusedError('the repository is damaged, so it is not known what other domains keep for it', {
      advice: { code: 'check-and-repair' },
    });
  }
  if (borrowedPacksOf(opened.state).length > 0)
    throw new RefusedError('other domains keep chunks for this repository', { advice: { code: 'adopt-first' } });
  await assertNoneStay(context, repository, opened);
}

/** No hold ends while packs stay for a newer state, and after the departure nothing would end it. */
async function assertNoneStay(context: OperationContext, repository: Repository, opened: OpenedState): Promise<void> {
  if ((await readPlacedHolds(repository)).size === 0) return;
  const staying = await findStaying(context, repository, opened);
  if (staying === undefined) return;
  const until = staying.until === undefined ? '' : ` until ${formatTime(staying.until)}`;
  throw new RefusedError(
    `packs that no snapshot needs stay${until}: a newer state of the repository may need them, and with them chunks that other domains keep`,
    { advice: { code: 'wait-or-accept-older-state' } },
  );
}

/** Removes what the coordinator has of a domain. */
export async function removeDomain({ records, coordinator }: OpenRealm, domainId: string): Promise<void> {
  await records.remove(domainId);
  for (const name of (await coordinator.planes?.names(domainId)) ?? [])
    await coordinator.planes!.remove(domainId, name);
}

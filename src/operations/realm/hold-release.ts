import { hostname } from 'node:os';
import { CancelledError, LdmError, RefusedError, isDamage } from '../../errors.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { OperationContext } from '../context.ts';
import { borrowedPacksOf, holdsNeededBy, knowsAllLoans } from './borrowed-packs.ts';
import type { OpenRealm } from './realm.ts';
import { nameOfDomain, withDomains } from './with-domains.ts';

/** The holds that the repository needed before a compaction. */
export type NeededHolds = Awaited<ReturnType<typeof holdsNeededBy>>;

/** Returns undefined if the repository has borrowed nothing. */
export async function neededHolds(repository: Repository, opened: OpenedState): Promise<NeededHolds | undefined> {
  const packs = borrowedPacksOf(opened.state);
  return packs.length === 0 ? undefined : await readHolds(repository, opened);
}

/** Returns undefined if a pack is damaged, because the hold it needs is unknown. */
async function readHolds(repository: Repository, { state }: OpenedState): Promise<NeededHolds | undefined> {
  try {
    return await holdsNeededBy(repository, borrowedPacksOf(state));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

/**
 * Ends the holds of this repository that no pack of borrowed chunks needs any more, also those that a failed backup has
 * left. Needs the exclusive lock, and that no such pack is about to be removed or to be indexed: a backup that still runs
 * has a hold before it has a pack. `before`: whom to ask; undefined: all members. If a domain cannot be asked, the next compaction tries again.
 */
export async function releaseUnneeded(
  context: OperationContext,
  repository: Repository,
  before: NeededHolds | undefined,
): Promise<void> {
  const opened = await repository.openState();
  if (!knowsAllLoans(opened)) return;
  const needed = await readHolds(repository, opened);
  if (needed === undefined) return;
  const { repositoryId } = repository.config;
  const report = (domain: string, error: unknown): void => {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    context.onNotice?.({ kind: 'hold-not-released', domain, reason: error.message });
  };
  try {
    await withDomains(context, repository, async (domains, realm) => {
      await assertNoCopy(context, realm);
      for (const domainId of before?.keys() ?? domains.all.map(({ id }) => id)) {
        try {
          const { holds } = await domains.peerOf(domainId);
          const kept = needed.get(domainId) ?? new Set();
          const unneeded = (await holds.list(repositoryId)).filter((id) => !kept.has(id));
          await repository.assertLocked();
          if (unneeded.length > 0) await holds.release(repositoryId, unneeded);
        } catch (error) {
          report(nameOfDomain(domains, domainId), error);
        }
      }
    });
  } catch (error) {
    report([...(before?.keys() ?? ['any'])].map((id) => id.slice(0, 8)).join(', '), error);
  }
}

/**
 * The copy of a repository, such as one made by cp, does not know what the other one still needs.
 * @throws RefusedError if the realm knows this repository at another place
 */
async function assertNoCopy({ backend }: OperationContext, { records, domainId }: OpenRealm): Promise<void> {
  const own = (await records.members()).members.get(domainId)?.value;
  if (own === undefined || (own.place === backend.location && own.host === hostname())) return;
  throw new RefusedError(`the realm knows this repository at ${own.place} on ${own.host}`, {
    advice: { code: 'join-after-move' },
  });
}

import { assertArguments } from '../../../core/session/arguments.ts';
import { hostname } from 'node:os';
import {
  CancelledError,
  LdmError,
  NoPasswordError,
  RefusedError,
  RepositoryLockedError,
  UnsupportedFormatError,
  WrongPasswordError,
  isDamage,
} from '../../../core/errors.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import type { SnapshotListing } from '../../../core/repository/read-snapshots.ts';
import { withRepository } from '../../../core/session/session.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { commitDelete } from '../../../core/removing/remove-snapshots.ts';
import { borrowedPacksOf, readBorrowedBlocks } from '../../lending/borrowed-packs.ts';
import { Domains } from '../../domains/domains.ts';
import type { Domain } from '../../domains/open-peer.ts';
import { holdsFor } from '../../lending/holds.ts';
import { findDomain } from './join.ts';
import { removeDomain } from './leave.ts';
import { assertOriginal, isRepositoryAt } from '../../domains/own-place.ts';
import { announcedEndpoint, mayAgentRun } from '../../domains/open-peer.ts';
import { withRealm } from '../../domains/realm.ts';
import type { OpenRealm } from '../../domains/realm.ts';

export interface ForgetDomainOptions {
  /** The name of the domain, or the beginning of its id. */
  readonly named: string;
  /** Also ends the holds with which this repository keeps chunks for it. */
  readonly releasesHolds?: boolean;
}

export interface ForgetDomainResult {
  readonly domainId: string;
  readonly name: string | undefined;
  readonly holdsReleased: number;
}

/**
 * Removes the records of another domain, whose repository is gone.
 * @throws RefusedError if there is no such domain, its agent runs, or this repository keeps chunks for it
 */
export async function forgetDomain(
  context: OperationContext,
  options: ForgetDomainOptions,
): Promise<ForgetDomainResult> {
  assertArguments<ForgetDomainOptions>(context, options, { named: 'text!', releasesHolds: 'flag' });
  return await withRepository(context, 'shared', async (repository) =>
    withRealm(repository, async (realm) => {
      await assertOriginal(context, realm);
      const { members, damaged } = await realm.records.members();
      const { listings } = await repository.files.readSnapshots();
      const domainId = findForgettable(options.named, { members, damaged }, listings);
      if (domainId === realm.domainId) {
        throw new RefusedError(`${options.named} is this repository`, { advice: { code: 'leave-realm' } });
      }
      await assertGone(context, realm, domainId, options.named);
      const holds = holdsFor(domainId, listings);
      await assertGivenUp(repository, { domainId, holds }, options);
      if (holds.length > 0) await commitDelete(context, repository, holds);
      await removeDomain(realm, domainId);
      return { domainId, name: members.get(domainId)?.value.name, holdsReleased: holds.length };
    }),
  );
}

/** Also a domain that is no member any more, and for which this repository still keeps chunks. */
function findForgettable(
  named: string,
  members: Parameters<typeof findDomain>[1],
  listings: readonly SnapshotListing[],
): string {
  try {
    return findDomain(named, members);
  } catch (error) {
    const holds = listings.flatMap(({ snapshot: { hold } }) => hold ?? []);
    const holder = holds.find(
      ({ name, domainId }) => name === named || (named.length >= 4 && domainId.startsWith(named)),
    );
    if (holder === undefined) throw error;
    return holder.domainId;
  }
}

/** @throws RefusedError if the agent or the repository of the domain answers */
async function assertGone(context: OperationContext, realm: OpenRealm, domainId: string, named: string): Promise<void> {
  await assertNoAgent(realm, domainId, named);
  const domains = new Domains(context, realm);
  let trace: string | undefined;
  try {
    await domains.readRecords();
    const domain = domains.all.find(({ id }) => id === domainId);
    trace = domain && (await traceOf(context, domains, domain));
  } finally {
    await domains.close();
  }
  if (trace === undefined) return;
  throw new RefusedError(`the repository of ${named} ${trace}`, { advice: { code: 'leave-realm-there' } });
}

/** Returns how the repository of a domain shows that it exists. Undefined: it is gone, or cannot be seen from here. */
async function traceOf(
  context: OperationContext,
  domains: Domains,
  { id, member: { place } }: Domain,
): Promise<string | undefined> {
  // It may be in a directory that several machines can reach, or have another password.
  if (place.startsWith('/') && (await isRepositoryAt(context, place, id))) return `still exists at ${place}`;
  try {
    await (await domains.peerOf(id)).status();
    return 'can be reached';
  } catch (error) {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    return isThereAllTheSame(error) ? `exists, though it cannot be opened: ${error.message}` : undefined;
  }
}

/** A repository that is in use, or needs another password, or is damaged, still needs what others keep for it. */
function isThereAllTheSame(error: LdmError): boolean {
  return (
    error instanceof RepositoryLockedError ||
    error instanceof WrongPasswordError ||
    error instanceof NoPasswordError ||
    error instanceof UnsupportedFormatError ||
    isDamage(error)
  );
}

/** @throws RefusedError if one of the two keeps chunks for the other, unless the caller agrees to lose them */
async function assertGivenUp(
  repository: Repository,
  { domainId, holds }: { readonly domainId: string; readonly holds: readonly SnapshotListing[] },
  { named, releasesHolds }: ForgetDomainOptions,
): Promise<void> {
  if (releasesHolds === true) return;
  if (holds.length > 0) {
    throw new RefusedError(`this repository keeps chunks that snapshots of ${named} need`, {
      advice: { code: 'release-holds' },
    });
  }
  const { state } = await repository.openState();
  const ignored = (): void => undefined;
  for await (const block of readBorrowedBlocks(repository, borrowedPacksOf(state), ignored)) {
    if (block.domainId !== domainId) continue;
    throw new RefusedError(`${named} keeps chunks for this repository`, { advice: { code: 'adopt-or-give-up' } });
  }
}

/** An agent that was killed may still be announced. */
async function assertNoAgent(realm: OpenRealm, domainId: string, named: string): Promise<void> {
  const endpoint = await announcedEndpoint(realm, domainId);
  if (endpoint === undefined) return;
  const isRunning = await mayAgentRun(realm, endpoint, domainId);
  const elsewhere = endpoint.kind === 'socket' && endpoint.host !== hostname() ? endpoint.host : undefined;
  if (!isRunning && elsewhere === undefined) return;
  const reason = isRunning ? 'is running' : `is announced on ${elsewhere}, where it cannot be asked`;
  throw new RefusedError(`the agent of ${named} ${reason}`, { hint: 'Stop it first, or leave the realm there.' });
}

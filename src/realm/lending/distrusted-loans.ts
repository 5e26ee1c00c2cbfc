import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { CancelledError, LdmError } from '../../core/errors.ts';
import { MAX_ASKED_IDS } from '../agents/peer.ts';
import { isDomainFailure } from '../coordination/realm-errors.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { borrowedPacksOf, readBorrowedBlocks } from './borrowed-packs.ts';
import type { BorrowedBlock } from './borrowed-packs.ts';
import type { Domains } from '../domains/domains.ts';
import { nameOfDomain } from '../domains/realm-access.ts';
import type { RealmAccess } from '../domains/realm-access.ts';

const DEADLINE_MS = 10_000;

/**
 * Returns the packs of borrowed chunks on which a new snapshot must not rely, so that a backup stores what it finds of
 * them: those that are damaged, whose domain has left the realm, is damaged, or does not keep every chunk and hold of them. A
 * domain that cannot be reached is trusted, after a notice, unless `trustsUnreachable` is false.
 */
export async function distrustedLoans(
  access: RealmAccess,
  opened: OpenedState,
  { trustsUnreachable }: { readonly trustsUnreachable: boolean },
): Promise<ReadonlySet<string>> {
  const { repository, caller } = access;
  const packs = borrowedPacksOf(opened.state);
  const distrusted = new Set<string>();
  if (packs.length === 0) return distrusted;
  const loans = new Map<string, BorrowedBlock[]>();
  for await (const block of readBorrowedBlocks(repository, packs, (packId) => distrusted.add(packId)))
    loans.set(block.domainId, [...(loans.get(block.domainId) ?? []), block]);
  const unreachable = (names: readonly string[], blocks: readonly BorrowedBlock[], error: unknown): void => {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    for (const domain of names)
      caller.onNotice?.({ kind: 'loans-not-verified', domain, reason: error.message, isStored: !trustsUnreachable });
    if (!trustsUnreachable) for (const { packId } of blocks) distrusted.add(packId);
  };
  try {
    await access.with(async (domains) => {
      for (const [domainId, blocks] of loans) {
        try {
          for (const packId of await lostPacks(domains, domainId, blocks, repository.config.repositoryId))
            distrusted.add(packId);
        } catch (error) {
          if (isDomainFailure(error)) for (const { packId } of blocks) distrusted.add(packId);
          else unreachable([nameOfDomain(domains, domainId)], blocks, error);
        }
      }
    });
  } catch (error) {
    unreachable(
      [...loans.keys()].map((id) => id.slice(0, 8)),
      [...loans.values()].flat(),
      error,
    );
  }
  return distrusted;
}

async function lostPacks(
  domains: Domains,
  domainId: string,
  blocks: readonly BorrowedBlock[],
  holderId: string,
): Promise<string[]> {
  const domain = domains.all.find(({ id }) => id === domainId);
  // Its record may be damaged; then it cannot be asked, which says nothing about what it keeps.
  if (domain === undefined && domains.unknown.has(domainId.slice(0, 8)))
    throw new LdmError('its record in the realm is damaged');
  if (domain === undefined) return blocks.map(({ packId }) => packId);
  const holds = new Set(
    await (await domains.peerOf(domainId)).holds.existing(holderId, [...new Set(blocks.map(({ holdId }) => holdId))]),
  );
  const lost = blocks.filter(({ holdId }) => !holds.has(holdId));
  for (const block of blocks.filter(({ holdId }) => holds.has(holdId))) {
    for (let first = 0; first < block.chunkIds.length; first += MAX_ASKED_IDS * CHUNK_ID_BYTES) {
      const ids = block.chunkIds.subarray(first, first + MAX_ASKED_IDS * CHUNK_ID_BYTES);
      if ((await domains.ask(domain, ids, DEADLINE_MS)).includes(undefined)) lost.push(block);
    }
  }
  return lost.map(({ packId }) => packId);
}

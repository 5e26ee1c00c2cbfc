import type { BorrowedFrom } from '../../core/session/extension.ts';
import { BorrowedChunkError, CancelledError, LdmError } from '../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { MAX_ASKED_IDS } from '../agents/peer.ts';
import { isDomainFailure } from '../coordination/realm-errors.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Finding } from '../../core/session/findings.ts';
import { prefetch } from '../../core/util/prefetch.ts';
import { borrowedPacksOf, neededEntriesOf, readBorrowedBlocks } from './borrowed-packs.ts';
import type { Domains } from '../domains/domains.ts';
import { nameOfDomain } from '../domains/realm-access.ts';
import type { RealmAccess } from '../domains/realm-access.ts';

interface Loans {
  readonly holdIds: Set<string>;
  readonly ids: Uint8Array[];
  readonly entries: number[];
  bytes: number;
}

const DEADLINE_MS = 30_000;

/**
 * Asks the domains on which snapshots rely whether they keep everything that they should. `readsData`: also reads and
 * verifies it.
 */
export async function checkBorrowed(
  access: RealmAccess,
  opened: OpenedState,
  readsData: boolean,
): Promise<{ readonly borrowed: readonly BorrowedFrom[]; readonly findings: readonly Finding[] }> {
  const { repository } = access;
  const loans = await loansOf(repository, opened);
  if (loans.size === 0) return { borrowed: [], findings: [] };
  const findings: Finding[] = [];
  const names = new Map<string, string>();
  const unreachable = (domainId: string, error: unknown): void => {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    const name = names.get(domainId) ?? domainId.slice(0, 8);
    findings.push({ severity: 'warning', kind: 'lender-unreachable', name, reason: error.message });
  };
  try {
    await access.with(async (domains) => {
      for (const [domainId, loan] of loans) {
        names.set(domainId, nameOfDomain(domains, domainId));
        try {
          findings.push(...(await findLost(domains, domainId, loan, repository.config.repositoryId)));
          if (readsData) findings.push(...(await findUnreadable(opened, nameOfDomain(domains, domainId), loan)));
        } catch (error) {
          if (isDomainFailure(error)) findings.push(failedDomain(nameOfDomain(domains, domainId), loan, error));
          else unreachable(domainId, error);
        }
      }
    });
  } catch (error) {
    for (const domainId of loans.keys()) unreachable(domainId, error);
  }
  const borrowed = [...loans].map(([domainId, { ids, bytes }]) => ({
    domainId,
    name: names.get(domainId) ?? domainId.slice(0, 8),
    chunks: ids.length,
    bytes,
  }));
  return { borrowed, findings };
}

function failedDomain(name: string, { ids }: Loans, error: unknown): Finding {
  const reason = error instanceof Error ? error.message : String(error);
  return { severity: 'error', kind: 'borrowed-chunk-unreadable', name, chunkCount: ids.length, reason };
}

/** The check reports damaged packs by itself. */
async function loansOf(repository: Repository, { state }: OpenedState): Promise<Map<string, Loans>> {
  const { filter } = state;
  const loans = new Map<string, Loans>();
  for await (const block of readBorrowedBlocks(repository, borrowedPacksOf(state), () => undefined)) {
    const { domainId, holdId } = block;
    const loan = loans.get(domainId) ?? { holdIds: new Set(), ids: [], entries: [], bytes: 0 };
    for (const entry of neededEntriesOf(state, block)) {
      const id = new Uint8Array(CHUNK_ID_BYTES);
      filter.copyId(entry, id, 0);
      loan.holdIds.add(holdId);
      loan.ids.push(id);
      loan.entries.push(entry);
      loan.bytes += filter.lengthOf(entry);
    }
    if (loan.ids.length > 0) loans.set(domainId, loan);
  }
  return loans;
}

async function findLost(domains: Domains, domainId: string, loan: Loans, holderId: string): Promise<Finding[]> {
  const name = nameOfDomain(domains, domainId);
  const findings: Finding[] = [];
  const domain = domains.all.find(({ id }) => id === domainId);
  const kept = new Set(await (await domains.peerOf(domainId)).holds.existing(holderId, [...loan.holdIds]));
  const holdCount = [...loan.holdIds].filter((id) => !kept.has(id)).length;
  if (holdCount > 0) findings.push({ severity: 'error', kind: 'hold-missing', name, holdCount });
  const lost: Uint8Array[] = [];
  for (let first = 0; first < loan.ids.length; first += MAX_ASKED_IDS) {
    const ids = loan.ids.slice(first, first + MAX_ASKED_IDS);
    const answers = await domains.ask(domain!, Buffer.concat(ids), DEADLINE_MS);
    lost.push(...ids.filter((_, index) => answers[index] === undefined));
  }
  if (lost[0] !== undefined) {
    const exampleId = Buffer.from(lost[0]).toString('hex');
    findings.push({ severity: 'error', kind: 'borrowed-chunk-missing', name, chunkCount: lost.length, exampleId });
  }
  return findings;
}

/** Requests under way at once. Each may hold a chunk of up to 8 MiB. */
const FETCHES_AT_ONCE = 8;

/** Reads every chunk. Those that the domain lacks are found without that. */
async function findUnreadable({ reader }: OpenedState, name: string, { entries }: Loans): Promise<Finding[]> {
  const read = async (entry: number): Promise<string | undefined> => {
    try {
      await reader.readEntry(entry);
      return undefined;
    } catch (error) {
      if (!(error instanceof BorrowedChunkError)) throw error;
      return error.message;
    }
  };
  const reasons: string[] = [];
  for await (const [, reading] of prefetch(entries, FETCHES_AT_ONCE, read)) {
    const reason = await reading;
    if (reason !== undefined) reasons.push(reason);
  }
  const [reason] = reasons;
  if (reason === undefined) return [];
  return [{ severity: 'error', kind: 'borrowed-chunk-unreadable', name, chunkCount: reasons.length, reason }];
}

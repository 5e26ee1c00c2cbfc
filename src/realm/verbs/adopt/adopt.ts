import { BorrowedChunkError, RefusedError } from '../../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../../core/format/constants.ts';
import { assertCondemnationsReadable } from '../../../core/repository/condemned.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import { prefetch } from '../../../core/util/prefetch.ts';
import { waitingContext } from '../../../core/session/context.ts';
import { assertArguments } from '../../../core/session/arguments.ts';
import { withRepository } from '../../../core/session/session.ts';
import { beginPhase } from '../../../core/session/progress.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { reclaim } from '../../../core/removing/remove-snapshots.ts';
import type { Reclaimed } from '../../../core/removing/remove-snapshots.ts';
import { replaceSnapshots } from '../../../core/saving/replace-snapshots.ts';
import { borrowedPacksOf, knowsAllLoans, neededEntriesOf, readBorrowedBlocks } from '../../lending/borrowed-packs.ts';
import type { BorrowedBlock } from '../../lending/borrowed-packs.ts';
import { FetchedPacks } from '../../../core/healing/fetched-packs.ts';
import { RealmAccess } from '../../domains/realm-access.ts';
import { releaseUnneeded } from '../../lending/hold-release.ts';

export interface AdoptOptions {
  /** Only what this domain keeps: its name, or the beginning of its id. Default: everything that is borrowed. */
  readonly from?: string | undefined;
  /** Only counts. */
  readonly dryRun?: boolean;
}

export interface AdoptResult extends Reclaimed {
  /** Chunks that were copied to this repository, and their bytes. */
  readonly chunks: number;
  readonly bytes: number;
  /** Chunks that no domain gives, and the first reason. They stay borrowed. */
  readonly failed: number;
  readonly failure: string | undefined;
  /** How many snapshots no longer rely on another domain. They have new ids. */
  readonly snapshotsChanged: number;
  readonly dryRun: boolean;
}

/** Requests under way at once. Each may hold a chunk of up to 8 MiB. */
const FETCHES_AT_ONCE = 8;

/**
 * Copies chunks that other domains keep for this repository to the repository itself. The copies are durable and indexed
 * before anything else changes; then the packs of borrowed chunks are dead, and a compaction removes them and ends the
 * holds. An adoption that is interrupted goes on where it was when it is repeated.
 */
export async function adopt(context: OperationContext, options: AdoptOptions = {}): Promise<AdoptResult> {
  assertArguments<AdoptOptions>(context, options, { from: 'text', dryRun: 'flag' });
  const dryRun = options.dryRun === true;
  beginPhase(context.progress, 'adopting');
  const counts = await withRepository(context, dryRun ? 'read' : 'add', async (repository) =>
    new Adoption(repository, options).run(),
  );
  const result = { ...counts, dryRun, snapshotsChanged: 0, compaction: undefined, notReclaimed: undefined };
  if (dryRun) return result;
  const snapshotsChanged = await withRepository(waitingContext(context), 'exclusive', async (repository) =>
    updateManifests(context, repository),
  );
  const reclaimed = await reclaim(context);
  // Also what failed backups and repairs have left at any member.
  if (reclaimed.compaction !== undefined && options.from === undefined)
    await withRepository(waitingContext(context), 'exclusive', async (repository) =>
      releaseUnneeded(new RealmAccess(context, repository)),
    );
  return { ...result, snapshotsChanged, ...reclaimed };
}

class Adoption {
  readonly #repository: Repository;
  readonly #options: AdoptOptions;
  #chunks = 0;
  #bytes = 0;
  #failed = 0;
  #failure: string | undefined;

  constructor(repository: Repository, options: AdoptOptions) {
    this.#repository = repository;
    this.#options = options;
  }

  async run(): Promise<Pick<AdoptResult, 'chunks' | 'bytes' | 'failed' | 'failure'>> {
    const repository = this.#repository;
    const opened = await repository.openState();
    assertCondemnationsReadable(opened.listing.condemned);
    const wanted = await this.#wantedDomain();
    const packs = new FetchedPacks(repository, repository.assertLocked);
    try {
      for await (const block of readBorrowedBlocks(repository, borrowedPacksOf(opened.state))) {
        if (wanted === undefined || block.domainId === wanted) await this.#adoptBlock(opened, block, packs);
      }
      await packs.finish();
    } catch (error) {
      // The first error is the one to report.
      await packs.abandon().catch(() => undefined);
      throw error;
    }
    return { chunks: this.#chunks, bytes: this.#bytes, failed: this.#failed, failure: this.#failure };
  }

  /** By the names in the manifests: the realm need not be reachable to find out who is meant. */
  async #wantedDomain(): Promise<string | undefined> {
    const { from } = this.#options;
    if (from === undefined) return undefined;
    const { listings } = await this.#repository.files.readSnapshots();
    const lenders = new Map(
      listings.flatMap(({ snapshot }) => (snapshot.reliesOn ?? []).map(({ domainId, name }) => [domainId, name])),
    );
    const found = [...lenders].filter(([id, name]) => name === from || (from.length >= 4 && id.startsWith(from)));
    if (found.length === 1) return found[0]![0];
    const names = [...lenders.values()].join(', ');
    throw new RefusedError(found.length === 0 ? `no snapshot relies on ${from}` : `several domains match ${from}`, {
      hint: names === '' ? 'No snapshot relies on another domain.' : `Snapshots rely on: ${names}.`,
    });
  }

  async #adoptBlock({ state, reader }: OpenedState, block: BorrowedBlock, packs: FetchedPacks): Promise<void> {
    const { filter } = state;
    const entries = neededEntriesOf(state, block);
    for (const entry of entries) {
      this.#chunks += 1;
      this.#bytes += filter.lengthOf(entry);
    }
    if (this.#options.dryRun === true) return;
    const read = async (entry: number): Promise<Uint8Array | undefined> => this.#read(reader, entry);
    for await (const [entry, reading] of prefetch(entries, FETCHES_AT_ONCE, read)) {
      this.#repository.throwIfAborted();
      const bytes = await reading;
      if (bytes === undefined) {
        this.#chunks -= 1;
        this.#bytes -= filter.lengthOf(entry);
        continue;
      }
      const id = new Uint8Array(CHUNK_ID_BYTES);
      filter.copyId(entry, id, 0);
      await packs.add('data', id, bytes);
    }
  }

  /** What one domain has lost must not keep the rest from being rescued. */
  async #read(reader: OpenedState['reader'], entry: number): Promise<Uint8Array | undefined> {
    try {
      return await reader.readEntry(entry);
    } catch (error) {
      if (!(error instanceof BorrowedChunkError)) throw error;
      this.#failed += 1;
      this.#failure ??= error.message;
      return undefined;
    }
  }
}

/** Removes the domains from manifests that keep nothing for this repository any more. Returns how many have changed. */
async function updateManifests(context: OperationContext, repository: Repository): Promise<number> {
  const { listings } = await repository.files.readSnapshots();
  const relying = listings.filter(({ snapshot }) => snapshot.reliesOn !== undefined);
  if (relying.length === 0) return 0;
  const opened = await repository.openState();
  if (!knowsAllLoans(opened)) return 0;
  const lenders = await lendersInUse(repository, opened);
  const changed = await replaceSnapshots(context, repository, relying, ({ reliesOn = [] }) => {
    const left = reliesOn.filter(({ domainId }) => lenders.has(domainId));
    if (left.length === reliesOn.length) return undefined;
    return { reliesOn: left.length === 0 ? undefined : left };
  });
  return changed.length;
}

/** The domains that keep a chunk that some snapshot needs. */
async function lendersInUse(repository: Repository, { state }: OpenedState): Promise<ReadonlySet<string>> {
  const inUse = new Set<string>();
  for await (const block of readBorrowedBlocks(repository, borrowedPacksOf(state))) {
    if (neededEntriesOf(state, block).length > 0) inUse.add(block.domainId);
  }
  return inUse;
}

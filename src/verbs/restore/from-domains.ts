import { findPlace } from '../../core/repository/snapshot-path.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { Caller } from '../../core/session/caller.ts';
import { ChunkGatherer } from '../../core/healing/chunk-gatherer.ts';
import { DomainChunks } from '../../core/healing/domain-chunks.ts';
import type { DomainOptions, FetchedChunks } from '../../core/healing/domain-chunks.ts';
import { FetchedPacks } from '../../core/healing/fetched-packs.ts';
import { withScratchDirectory } from '../../core/healing/scratch-directory.ts';
import { selectionIn } from './path-selection.ts';
import type { SelectionPatterns } from './path-selection.ts';
import { walkSelected } from './selected-steps.ts';

/** What is restored. */
interface WantedPlace {
  readonly listing: SnapshotListing;
  readonly path: ByteString;
  readonly patterns: SelectionPatterns;
}

/** Runs a restore that may use other domains. The repository is not changed. */
export async function restoreWithDomains<T>(
  caller: Caller,
  options: DomainOptions,
  run: (scratchDirectory: string, domains: RestoreDomains) => Promise<T>,
): Promise<T> {
  return await withScratchDirectory(async (directory) => run(directory, new RestoreDomains(caller, options)));
}

/** Fetches what a restore needs and cannot read. */
export class RestoreDomains {
  readonly #caller: Caller;
  readonly #options: DomainOptions;
  #chunks: DomainChunks | undefined;

  constructor(caller: Caller, options: DomainOptions) {
    this.#caller = caller;
    this.#options = options;
  }

  get fetched(): FetchedChunks {
    return this.#chunks?.result ?? { chunks: 0, bytes: 0, byDomain: [] };
  }

  /**
   * Returns a state in which every chunk that is needed, and that the repository or a domain has, is in a pack. Chunks
   * that are in no pack are fetched to the scratch directory now, since a restore plans with their lengths. Damaged
   * contents of files are fetched when the restore reads them, and are not stored.
   */
  async complete(repository: Repository, opened: OpenedState, wanted: WantedPlace): Promise<OpenedState> {
    const chunks = (this.#chunks = new DomainChunks(this.#options, repository.hasher, this.#caller));
    const packs = new FetchedPacks(repository, async () => undefined);
    try {
      beginPhase(this.#caller.progress, 'asking other domains');
      await this.#gather(new ChunkGatherer(chunks, packs), opened, wanted);
      await packs.finish();
    } catch (error) {
      // The first error is the one to report.
      await packs.abandon().catch(() => undefined);
      throw error;
    }
    const { reader, ...completed } = packs.isEmpty
      ? opened
      : await repository.openState({ from: opened, listing: await repository.files.listForReading() });
    return { ...completed, reader: reader.withLastResort(chunks.fetch) };
  }

  async #gather(gatherer: ChunkGatherer, opened: OpenedState, { listing, path, patterns }: WantedPlace): Promise<void> {
    const reader = opened.reader.withLastResort(gatherer.fetch);
    const place = await findPlace(reader, listing, path);
    const selection = selectionIn(place.directory, patterns, listing.snapshot.base);
    const run = ({ kind, entry }: TreeStep): Promise<void> | undefined => {
      if (kind !== 'entry' || entry.type !== 'file') return undefined;
      const { chunkIds } = entry;
      for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES) {
        if (!reader.has(chunkIds, offset)) gatherer.want('data', chunkIds, offset);
      }
      return gatherer.isFull ? gatherer.fetchWanted() : undefined;
    };
    await walkSelected({ reader, open: () => place, selection }, new Pacer(this.#caller), { run });
    await gatherer.fetchWanted();
  }
}

import { isDamage } from '../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { BorrowedChunks } from '../../core/format/borrowed-block.ts';
import type { PackInfo } from '../../core/ldm/pack-table.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';

/** What the blocks of the packs of borrowed chunks say, with the id of the pack. */
export interface BorrowedBlock extends BorrowedChunks {
  readonly packId: string;
}

/** The packs of borrowed chunks in a state. Almost always none. */
export function borrowedPacksOf({ packs }: Pick<FilterState, 'packs'>): PackInfo[] {
  const borrowed: PackInfo[] = [];
  packs.forEach((pack) => {
    if (pack.isBorrowed) borrowed.push(pack);
  });
  return borrowed;
}

/**
 * Whether a state shows all packs of borrowed chunks and everything that needs them. If not, what is missing may be in a
 * pack that a repair finds, and need its domain.
 */
export function knowsAllLoans({ needsCondemned, damage }: OpenedState): boolean {
  return !needsCondemned && damage.isWhole;
}

/**
 * Reads packs of borrowed chunks. They are small: a hundredth of a percent of what they stand for.
 * `onDamage`: called for each that cannot be read. By default, that is an error.
 */
export async function* readBorrowedBlocks(
  { packs: stored, files }: Repository,
  packs: readonly Pick<PackInfo, 'id' | 'sizeBytes'>[],
  onDamage: (packId: string, error: Error) => void = raise,
): AsyncGenerator<BorrowedBlock> {
  const read = async ({ id, sizeBytes }: Pick<PackInfo, 'id' | 'sizeBytes'>): Promise<BorrowedBlock[]> =>
    stored.fromAnyCopy(id, async (copyId) => {
      const contents = await stored.readContents(copyId, copyId === id ? sizeBytes : undefined);
      const blocks: BorrowedBlock[] = [];
      for (const block of contents.blocks) blocks.push({ packId: id, ...(await stored.openBorrowed(contents, block)) });
      return blocks;
    });
  for await (const [{ id }, blocks] of files.prefetch(packs, read)) {
    try {
      yield* await blocks;
    } catch (error) {
      if (!isDamage(error)) throw error;
      onDamage(id, error);
    }
  }
}

function raise(_packId: string, error: Error): never {
  throw error;
}

/** Returns the entries of the chunks of a block that snapshots need and that are in no pack with bytes. */
export function neededEntriesOf({ filter, packs }: FilterState, { packId, chunkIds }: BorrowedBlock): number[] {
  const packIndex = packs.find(packId);
  const needed: number[] = [];
  for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES) {
    const entry = filter.find(chunkIds, offset);
    if (entry < 0 || filter.refs(entry) === 0 || !filter.hasLocation(entry)) continue;
    if (filter.packIndexOf(entry) === packIndex) needed.push(entry);
  }
  return needed;
}

/** Returns the holds that packs need, by the domain that has them. */
export async function holdsNeededBy(
  repository: Repository,
  packs: readonly Pick<PackInfo, 'id' | 'sizeBytes'>[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const holds = new Map<string, Set<string>>();
  for await (const { domainId, holdId } of readBorrowedBlocks(repository, packs)) {
    holds.set(domainId, (holds.get(domainId) ?? new Set()).add(holdId));
  }
  return holds;
}

import { packName } from '../format/layout.ts';
import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import type { Condemned } from '../format/condemnation.ts';
import { forEachChunk } from '../format/packed-block.ts';
import type { PackContents } from '../format/pack.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { EntrySet } from '../snapshots/live-walk.ts';

/**
 * Two parallel backups may store a chunk twice. Reads and verifies the copy that stays of every live chunk that also
 * is in a pack which is about to be removed: if the copy that stays were damaged, the good one would be lost.
 * @throws CorruptDataError
 */
export async function verifyKeptCopies(
  repository: Repository,
  opened: OpenedState,
  condemned: Condemned,
): Promise<void> {
  const { filter, packs } = opened.state;
  const going = new Set(condemned.packIds);
  const seen = new EntrySet();
  const entries: number[] = [];
  const visit = (pack: PackContents): void => {
    for (const block of pack.blocks) {
      forEachChunk(block, (idOffset) => {
        const entry = filter.find(block.chunkIds, idOffset);
        if (entry < 0 || filter.refs(entry) === 0 || !filter.hasLocation(entry)) return;
        if (!going.has(packs.get(filter.packIndexOf(entry)).id) && seen.add(entry)) entries.push(entry);
      });
    }
  };
  await forEachGoing(repository, opened, condemned, visit);
  // In the order of the packs, so that each block is read once.
  entries.sort((a, b) => compareLocations(opened, a, b));
  for (const entry of entries) {
    repository.throwIfAborted();
    await verify(opened, entry);
  }
}

/** Visits the packs that are about to be removed, by the segments that index them or else by their own footers. */
async function forEachGoing(
  repository: Repository,
  { listing }: OpenedState,
  { segmentIds, packIds }: Condemned,
  visit: (pack: PackContents) => void,
): Promise<void> {
  const { files, packs } = repository;
  const left = new Set(packIds);
  for await (const [, segment] of files.prefetch(segmentIds, async (id) => readIfSound(repository, id))) {
    for (const pack of await segment) if (left.delete(pack.id)) visit(pack);
  }
  const readSound = async (id: string): Promise<PackContents | undefined> =>
    packs.readSoundContents(id, listing.packs.get(id));
  for await (const [, reading] of files.prefetch(left, readSound)) {
    const pack = await reading;
    if (pack !== undefined) visit(pack);
  }
}

/** An interrupted compaction may have removed a condemned segment already. */
async function readIfSound({ files }: Repository, segmentId: string): Promise<PackContents[]> {
  try {
    return await files.readSegment(segmentId);
  } catch (error) {
    if (isDamage(error) || isAbsent(error)) return [];
    throw error;
  }
}

function compareLocations({ state: { filter } }: OpenedState, a: number, b: number): number {
  const [left, right] = [filter.location(a), filter.location(b)];
  return left.packIndex - right.packIndex || left.blockOffset - right.blockOffset;
}

async function verify({ state, reader }: OpenedState, entry: number): Promise<void> {
  try {
    await reader.verifyEntry(entry);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const pack = packName(state.packs.get(state.filter.packIndexOf(entry)).id);
    throw new CorruptDataError(`${pack} is damaged, and a good copy of a chunk in it would be removed; it was not`, {
      cause: error,
      advice: { code: 'repair-keeps-good-copy' },
    });
  }
}

import { isAbsent, isDamage } from '../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { forEachChunk } from '../../core/format/packed-block.ts';
import type { PackContents } from '../../core/format/pack.ts';
import { findStayingAmong } from '../../core/removing/unindexed-packs.ts';
import type { Remembering } from '../../core/removing/unindexed-packs.ts';
import type { ReadManifest } from '../../core/repository/manifests.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { EntrySet, walkLive } from '../../core/snapshots/live-walk.ts';
import type { PackJudge } from './pack-judge.ts';

/** A whole pack, of which chunks are copied to new packs. */
export interface CopiedPack {
  readonly pack: PackContents;
  /** `idText` of what is copied. Undefined: everything. */
  readonly neededIds?: ReadonlySet<string> | undefined;
}

export function packsOf(copied: Iterable<CopiedPack>): PackContents[] {
  return [...copied].map(({ pack }) => pack);
}

/** What becomes of whole packs that no segment lists. The others stay as they are. */
interface SortedPacks {
  readonly indexed: readonly PackContents[];
  readonly copied: readonly CopiedPack[];
}

export function idText(ids: Uint8Array, offset = 0): string {
  return Buffer.from(ids.buffer, ids.byteOffset + offset, CHUNK_ID_BYTES).toString('latin1');
}

interface Found {
  readonly opened: OpenedState;
  readonly judge: PackJudge;
  /** The whole packs that no segment lists. */
  readonly packs: readonly PackContents[];
  /** What the new segment lists in any case, and what it takes the place of. */
  readonly prediction: { readonly packs: readonly PackContents[]; readonly segmentsReplaced: ReadonlySet<string> };
}

/**
 * A pack that no segment lists may be of a newer state, whose snapshots come back. A compaction leaves such a pack for some
 * days (`findStaying`), but it removes one that a segment lists, or rewrites it, as soon as its chunks are not needed. So it
 * is listed only if the snapshots need all of it. Of the others, what is needed is copied.
 */
export async function sortFoundPacks(
  context: Remembering,
  repository: Repository,
  { opened, judge, packs, prediction }: Found,
): Promise<SortedPacks> {
  const ids = packs.map(({ id }) => id);
  const staying = (await findStayingAmong(context, repository, opened.listing, ids))?.packIds ?? new Set<string>();
  const indexed = packs.filter(({ id }) => !staying.has(id));
  if (staying.size === 0) return { indexed, copied: [] };
  const { remembered } = opened;
  const predict = async (listed: readonly PackContents[]): Promise<OpenedState> =>
    repository.openState({ ignoreCheckpoints: true, prediction: { ...prediction, remembered, packs: listed } });
  // What is needed is known only with all trees. What is listed anyway does not come from checkpoints, which know the packs
  // of damaged segments, too.
  const predicted = await predict([...prediction.packs, ...packs]);
  const without = await predict(prediction.packs);
  const ofDeleted = await neededByDeleted(repository, predicted);
  // Below a tree that cannot be read, what is needed is unknown.
  const isAllKnown = predicted.state.unreadableTrees.size === 0;
  const copied: CopiedPack[] = [];
  for (const pack of packs.filter(({ id }) => staying.has(id))) {
    const { isAllLive, neededIds } = useOf(pack, { judge, without, predicted, ofDeleted });
    if (neededIds.size === 0) continue;
    if (isAllLive) indexed.push(pack);
    // What the place does not read now cannot be copied, and a later repair finds it.
    else if (!judge.isDoubtful(pack.id)) copied.push({ pack, neededIds: isAllKnown ? neededIds : undefined });
  }
  return { indexed, copied };
}

interface PackUse extends Pick<Found, 'judge'> {
  /** The state if none of the packs that were found is listed, and if all of them are. */
  readonly without: OpenedState;
  readonly predicted: OpenedState;
  readonly ofDeleted: EntrySet;
}

/** Which chunks snapshots need and are in no sound pack that a segment lists, and whether they need all that are here. */
function useOf(
  pack: PackContents,
  given: PackUse,
): { readonly isAllLive: boolean; readonly neededIds: ReadonlySet<string> } {
  const { judge, without, predicted, ofDeleted } = given;
  const { filter } = predicted.state;
  let isAllLive = true;
  const neededIds = new Set<string>();
  for (const block of pack.blocks) {
    forEachChunk(block, (idOffset) => {
      const entry = filter.find(block.chunkIds, idOffset);
      const isLive = entry >= 0 && filter.refs(entry) > 0;
      if (!isLive) isAllLive = false;
      const isUsed = isLive || (entry >= 0 && ofDeleted.has(entry));
      if (isUsed && !isInSoundPack(without, judge, block.chunkIds, idOffset))
        neededIds.add(idText(block.chunkIds, idOffset));
    });
  }
  return { isAllLive, neededIds };
}

/** Whether a segment lists a sound pack with a chunk. */
export function isInSoundPack({ state }: OpenedState, judge: PackJudge, ids: Uint8Array, offset: number): boolean {
  const { filter, packs } = state;
  const entry = filter.find(ids, offset);
  return entry >= 0 && filter.hasLocation(entry) && !judge.isDoubtful(packs.get(filter.packIndexOf(entry)).id);
}

/** They could still come back. */
async function neededByDeleted({ files }: Repository, opened: OpenedState): Promise<EntrySet> {
  const roots: Uint8Array[] = [];
  const read = async (id: string): Promise<ReadManifest> => files.readManifest(id, { deleted: true });
  for await (const [, manifest] of files.prefetch(opened.listing.deletedIds, read)) {
    try {
      roots.push(Buffer.from((await manifest).snapshot.tree, 'hex'));
    } catch (error) {
      if (!isDamage(error) && !isAbsent(error)) throw error;
    }
  }
  const onUnreadable = (_: number, error: unknown): void => {
    if (!isDamage(error) && !isAbsent(error)) throw error;
  };
  return (await walkLive(opened, roots, onUnreadable)).reached;
}

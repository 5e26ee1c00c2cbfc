import { isAbsent, isDamage } from '../../core/errors.ts';
import { forEachChunk } from '../../core/format/packed-block.ts';
import type { PackContents } from '../../core/format/pack.ts';
import { findStayingAmong } from '../../core/removing/unindexed-packs.ts';
import type { Remembering } from '../../core/removing/unindexed-packs.ts';
import type { ReadManifest } from '../../core/repository/manifests.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { EntrySet, walkLive } from '../../core/snapshots/live-walk.ts';
import type { PackJudge } from './pack-judge.ts';

/** What becomes of whole packs that no segment lists. The others stay as they are. */
interface SortedPacks {
  readonly indexed: readonly PackContents[];
  /** What is in them is copied to new packs. */
  readonly copied: readonly PackContents[];
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
  const copied: PackContents[] = [];
  for (const pack of packs.filter(({ id }) => staying.has(id))) {
    const use = useOf(pack, { judge, without, predicted, ofDeleted });
    if (use === 'all') indexed.push(pack);
    else if (use === 'some') copied.push(pack);
  }
  return { indexed, copied };
}

interface PackUse extends Pick<Found, 'judge'> {
  /** The state if none of the packs that were found is listed, and if all of them are. */
  readonly without: OpenedState;
  readonly predicted: OpenedState;
  readonly ofDeleted: EntrySet;
}

function useOf(pack: PackContents, given: PackUse): 'all' | 'some' | 'none' {
  const { judge, without, predicted, ofDeleted } = given;
  const { filter } = predicted.state;
  let isAllLive = true;
  let isNeeded = false;
  for (const block of pack.blocks) {
    forEachChunk(block, (idOffset) => {
      const entry = filter.find(block.chunkIds, idOffset);
      const isLive = entry >= 0 && filter.refs(entry) > 0;
      if (!isLive) isAllLive = false;
      const isUsed = isLive || (entry >= 0 && ofDeleted.has(entry));
      if (isUsed && !isInSoundPack(without, judge, block.chunkIds, idOffset)) isNeeded = true;
    });
  }
  if (!isNeeded) return 'none';
  if (isAllLive) return 'all';
  // What the place does not read now cannot be copied, and a later repair finds it.
  return judge.isDoubtful(pack.id) ? 'none' : 'some';
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

import { isAbsent, isDamage } from '../../core/errors.ts';
import { forEachChunk } from '../../core/format/packed-block.ts';
import type { PackContents } from '../../core/format/pack.ts';
import type { ReadManifest } from '../../core/repository/manifests.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Remembering } from '../../core/removing/unindexed-packs.ts';
import { findMissing } from '../../core/snapshots/live-walk.ts';
import { isInSoundPack, packsOf, sortFoundPacks } from './found-packs.ts';
import type { CopiedPack } from './found-packs.ts';
import type { PackJudge } from './pack-judge.ts';

/** What is wrong with packs and segments. */
export interface PackSurvey {
  /** Ids of readable segments that list a damaged or missing pack. */
  readonly segmentsReplaced: readonly string[];
  readonly segmentsDamaged: readonly string[];
  /** Whole packs that the new segment has to list. */
  readonly packsKept: readonly PackContents[];
  /**
   * Whole packs with needed chunks that are copied, and stay for a compaction to remove: condemned ones, and those that no
   * segment lists and that may be of a newer state.
   */
  readonly packsCopied: readonly CopiedPack[];
  /** Ids of packs that are there and damaged. What the place does not read is in none of these lists. */
  readonly packsDamaged: readonly string[];
  /** What readable segments say of packs that are damaged or missing, by id. */
  readonly listedDamaged: ReadonlyMap<string, PackContents>;
  readonly packsMissing: readonly string[];
}

/**
 * Reads every pack that a segment lists; the others only where something is missing that they may hold. Condemned packs
 * are never adopted: where a chunk that is not known to be dead is in them only, their chunks must be copied.
 */
export async function surveyPacks(
  context: Remembering,
  repository: Repository,
  opened: OpenedState,
  judge: PackJudge,
): Promise<PackSurvey> {
  const { listing, damage } = opened;
  const segmentsReplaced: string[] = [];
  const segmentsDamaged: string[] = [];
  const kept = new Map<string, PackContents>();
  const copied = new Map<string, CopiedPack>();
  const listedDamaged = new Map<string, PackContents>();
  /** The judge knows others too: it may have seen an earlier survey. */
  const named = new Set<string>();
  let isSegmentUnread = false;
  for await (const [id, segment] of judge.readSegments(listing.segmentIds)) {
    const packs = await segment;
    if (packs === undefined) {
      if (judge.isUnreadSegment(id)) isSegmentUnread = true;
      else segmentsDamaged.push(id);
      continue;
    }
    const sound: PackContents[] = [];
    let unreadCount = 0;
    for (const pack of packs) {
      named.add(pack.id);
      if (!(await judge.isWhole(pack))) listedDamaged.set(pack.id, pack);
      else if (!listing.condemned.packIds.has(pack.id)) sound.push(pack);
      else if (judge.isDoubtful(pack.id)) unreadCount += 1;
      else copied.set(pack.id, { pack });
    }
    if (sound.length + unreadCount === packs.length) continue;
    segmentsReplaced.push(id);
    for (const pack of sound) kept.set(pack.id, pack);
  }
  const goneCount = segmentsReplaced.length + segmentsDamaged.length + damage.lostSegments.length;
  const isSegmentGone = isSegmentUnread || goneCount > 0;
  if (isSegmentGone || (await isChunkMissing(repository, opened))) {
    const packs = await readUnlisted(opened, judge, named);
    const replaced = new Set([...segmentsReplaced, ...segmentsDamaged]);
    const prediction = { packs: [...kept.values(), ...packsOf(copied.values())], segmentsReplaced: replaced };
    // Where segments are damaged, or all of them are gone, that is why packs are not listed. To copy from each pack with a
    // dead chunk could take as much room as the repository. A single one that is gone may be of a newer state.
    const isExplained = isSegmentUnread || segmentsDamaged.length > 0 || listing.segmentIds.length === 0;
    const sorted = isExplained
      ? { indexed: packs, copied: [] }
      : await sortFoundPacks(context, repository, { opened, judge, packs, prediction });
    for (const pack of sorted.indexed) kept.set(pack.id, pack);
    for (const each of sorted.copied) copied.set(each.pack.id, each);
  }
  const present = new Set(listing.packs.keys());
  // Not for deleted snapshots: what only they need is condemned.
  if (isSegmentGone || !opened.state.isComplete) {
    for await (const [id, pack] of readCondemned(repository, opened, judge, named)) {
      present.add(id);
      if (pack !== undefined && hasLiveChunk(pack, opened, judge)) copied.set(id, { pack });
    }
  }
  return {
    segmentsReplaced,
    segmentsDamaged,
    packsKept: [...kept.values()],
    packsCopied: [...copied.values()],
    packsDamaged: judge.badIds.filter((id) => present.has(id)),
    packsMissing: judge.badIds.filter((id) => !present.has(id)),
    listedDamaged,
  };
}

/** Reads the condemned packs that exist and that no segment lists. Undefined for one that is not known to be whole. */
async function* readCondemned(
  { packs }: Repository,
  { listing }: OpenedState,
  judge: PackJudge,
  named: ReadonlySet<string>,
): AsyncGenerator<readonly [string, PackContents | undefined]> {
  for (const id of listing.condemned.packIds) {
    if (named.has(id) || (await packs.sizeOf(id)) === undefined) continue;
    const pack = await judge.readUnindexed(id);
    yield [id, judge.isDoubtful(id) ? undefined : pack];
  }
}

/** Reads the whole packs that are not condemned and that no segment lists. `named`: those that one lists. */
async function readUnlisted(
  opened: OpenedState,
  judge: PackJudge,
  named: ReadonlySet<string>,
): Promise<PackContents[]> {
  const packs: PackContents[] = [];
  for (const id of opened.listing.packs.keys()) {
    if (named.has(id) || opened.listing.condemned.packIds.has(id)) continue;
    const pack = await judge.readUnindexed(id);
    if (pack === undefined) continue;
    // A pack that borrows unneeded chunks may be of a backup that has failed, and its hold may be gone.
    const isBorrowed = pack.blocks[0]?.codec === 'borrowed';
    if (!isBorrowed || hasLiveChunk(pack, opened, judge)) packs.push(pack);
  }
  return packs;
}

/** Whether a pack has a chunk that is needed, as far as is known, and that no sound pack has. */
function hasLiveChunk(pack: PackContents, opened: OpenedState, judge: PackJudge): boolean {
  const { state } = opened;
  const { filter } = state;
  let hasAny = false;
  for (const block of pack.blocks) {
    forEachChunk(block, (idOffset) => {
      const entry = filter.find(block.chunkIds, idOffset);
      // Below a tree that cannot be read, what is needed is unknown.
      const isLive = entry < 0 ? state.unreadableTrees.size > 0 : filter.refs(entry) > 0;
      if (isLive && !isInSoundPack(opened, judge, block.chunkIds, idOffset)) hasAny = true;
    });
  }
  return hasAny;
}

/** Whether a snapshot, or a deleted one that could still come back, needs a chunk that is in no pack known. */
async function isChunkMissing({ files }: Repository, opened: OpenedState): Promise<boolean> {
  if (!opened.state.isComplete) return true;
  const read = async (id: string): Promise<ReadManifest> => files.readManifest(id, { deleted: true });
  for await (const [, manifest] of files.prefetch(opened.listing.deletedIds, read)) {
    try {
      const { snapshot } = await manifest;
      if ((await findMissing(opened, Buffer.from(snapshot.tree, 'hex'))) !== undefined) return true;
    } catch (error) {
      if (!isDamage(error) && !isAbsent(error)) throw error;
    }
  }
  return false;
}

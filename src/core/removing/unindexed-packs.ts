import { baseName } from '../format/layout.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { Listing } from '../repository/listing.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from '../session/context.ts';
import type { StayingPacks } from '../session/notices.ts';
import { rememberedId } from '../session/repository-memory.ts';
import { wallClockMs } from '../util/clock.ts';

/*
 * Packs that no segment lists. Usually a backup was interrupted before it wrote the segment. But if a program that copies
 * repositories has put yesterday's segments and snapshots beside today's packs, today's snapshots need them as soon as
 * today's files are back. Nothing in a pack says for which snapshot it was written, so a machine removes at once only those
 * that were written since it first saw the repository: if a newer state than the one here had been there since, its memory
 * would miss that (`RepositoryWatch`). The others stay until there was time to notice the older state. So does everything
 * else meanwhile: the newer snapshots share chunks with the listed ones, and rely on indexed chunks that were dead before.
 */

/** How long a pack of an unknown backup stays after it was written. */
const GRACE_MS = 7 * 24 * 60 * 60_000;
/** Times have as little as a second of precision, so that what was just written can seem to be of the next second. */
const PRECISION_MS = 2000;

/** Ids of unindexed packs. Where chunks are missing, a pack that was put back may have them until a repair indexes it. */
export function unindexedPackIds(state: FilterState, listing: Listing): string[] {
  return state.isComplete ? [...listing.packs.keys()].filter((id) => state.packs.find(id) === undefined) : [];
}

/** Returns the unindexed packs that stay, if any. None do if an older state of the repository is accepted. */
export async function findStaying(
  { memory, backend, acceptsOlderState = false }: Pick<OperationContext, 'memory' | 'backend' | 'acceptsOlderState'>,
  { config, files }: Repository,
  { state, listing }: OpenedState,
): Promise<StayingPacks | undefined> {
  const ids = unindexedPackIds(state, listing);
  if (ids.length === 0 || acceptsOlderState !== false) return undefined;
  const seen = memory?.recall(backend.location, rememberedId(config));
  // An earlier build has seen it, at an unknown time.
  if (seen !== undefined && seen.firstSeen === undefined) return undefined;
  const firstSeenMs = seen?.firstSeen === undefined ? Infinity : Date.parse(seen.firstSeen);
  const nowMs = wallClockMs();
  const listed = await files.list('packs');
  const times = new Map(listed.map(({ name, modifiedMs }) => [baseName(name), modifiedMs]));
  const clocks = { nowMs, aheadMs: backend.clockAheadMs?.() ?? 0 };
  const ends = new Map(ids.map((id) => [id, endOfGrace(times.get(id), firstSeenMs, clocks)]));
  const staying = ids.filter((id) => ends.get(id)! > nowMs);
  if (staying.length === 0) return undefined;
  const untilMs = staying.reduce((latest, id) => Math.max(latest, ends.get(id)!), 0);
  return {
    packIds: new Set(staying),
    packBytes: staying.reduce((sum, id) => sum + listing.packs.get(id)! + (listing.copyBytes.get(id) ?? 0), 0),
    until: untilMs === Infinity ? undefined : new Date(untilMs).toISOString(),
  };
}

/**
 * Returns from when on a pack may go: Infinity if that is not known, and 0 for one that was written since this machine first saw
 * the repository. A time that is missing or in the future says nothing; a clock that differs is taken for what keeps the pack.
 */
function endOfGrace(
  modifiedMs: number | undefined,
  firstSeenMs: number,
  { nowMs, aheadMs }: { readonly nowMs: number; readonly aheadMs: number },
): number {
  // Places without times say 1970.
  const isUnknown = modifiedMs === undefined || modifiedMs <= 0 || modifiedMs > nowMs + PRECISION_MS;
  const earliestMs = isUnknown ? -Infinity : modifiedMs - Math.max(0, aheadMs);
  if (earliestMs >= firstSeenMs) return 0;
  const latestMs = isUnknown ? Infinity : modifiedMs - Math.min(0, aheadMs);
  return Math.min(latestMs, firstSeenMs) + GRACE_MS;
}

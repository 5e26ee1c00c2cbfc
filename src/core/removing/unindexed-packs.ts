import { baseName } from '../format/layout.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { Listing } from '../repository/listing.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from '../session/context.ts';
import type { StayingPacks } from '../session/notices.ts';
import { memoryKey } from '../session/repository-memory.ts';
import { wallClockMs } from '../util/clock.ts';

/*
 * Packs that no segment lists. Usually a backup was interrupted before it wrote the segment. But if a program that copies
 * repositories has put yesterday's segments and snapshots beside today's packs, today's snapshots need them as soon as
 * today's files are back. Nothing in a pack says for which snapshot it was written, so a machine removes at once only those
 * that it has written itself: if it had finished that backup, its memory would miss the newer state (`RepositoryWatch`).
 * The others stay until there was time to notice the older state. On a machine that is new to the repository, so does
 * everything else meanwhile: the newer snapshots share chunks with the listed ones, and rely on indexed chunks that were
 * dead before. On the others that would end all reclaiming for a week whenever another machine's backup is interrupted.
 */

/** How long a pack of an unknown backup stays after it was written. */
const GRACE_MS = 7 * 24 * 60 * 60_000;
/** Times have as little as a second of precision, so that what was just written can seem to be of the next second. */
const PRECISION_MS = 2000;

/** The parts of a context that decide which packs stay. */
export type Remembering = Pick<OperationContext, 'memory' | 'backend' | 'acceptsOlderState'>;

/** Ids of unindexed packs. Where chunks are missing, a pack that was put back may have them until a repair indexes it. */
export function unindexedPackIds(state: FilterState, listing: Listing): string[] {
  return state.isComplete ? [...listing.packs.keys()].filter((id) => state.packs.find(id) === undefined) : [];
}

/** Returns the unindexed packs that stay, if any. None do if an older state of the repository is accepted. */
export async function findStaying(
  context: Remembering,
  repository: Repository,
  { state, listing }: OpenedState,
): Promise<StayingPacks | undefined> {
  return await findStayingAmong(context, repository, listing, unindexedPackIds(state, listing));
}

/** The same for packs that no segment lists while chunks are missing, of which a repair may list some. */
export async function findStayingAmong(
  context: Remembering,
  repository: Repository,
  listing: Listing,
  ids: readonly string[],
): Promise<StayingPacks | undefined> {
  const { memory, backend, acceptsOlderState = false } = context;
  if (ids.length === 0 || acceptsOlderState !== false) return undefined;
  const known = memoryKey(context, repository);
  const written = memory?.writtenPacks(...known);
  const others = ids.filter((id) => written?.has(id) !== true);
  if (others.length === 0) return undefined;
  const seen = memory?.recall(...known);
  const nowMs = wallClockMs();
  const firstSeenMs = seen === undefined ? Infinity : Math.min(nowMs, timeOf(seen.firstSeen));
  const listed = await repository.files.list('packs');
  const times = new Map(listed.map(({ name, modifiedMs }) => [baseName(name), modifiedMs]));
  const clocks = { nowMs, aheadMs: backend.clockAheadMs?.() ?? 0 };
  const ends = new Map(others.map((id) => [id, endOfGrace(times.get(id), firstSeenMs, clocks)]));
  const staying = others.filter((id) => ends.get(id)! > nowMs);
  if (staying.length === 0) return undefined;
  const untilMs = staying.reduce((latest, id) => Math.max(latest, ends.get(id)!), 0);
  return {
    packIds: new Set(staying),
    packBytes: staying.reduce((sum, id) => sum + listing.packs.get(id)! + (listing.copyBytes.get(id) ?? 0), 0),
    until: untilMs === Infinity ? undefined : new Date(untilMs).toISOString(),
    isAllKept: firstSeenMs + GRACE_MS > nowMs,
  };
}

/** What an earlier build has seen at an unknown time was long ago. */
function timeOf(firstSeen: string | undefined): number {
  return firstSeen === undefined ? -Infinity : Date.parse(firstSeen);
}

/**
 * Returns from when on a pack may go; Infinity if that is not known. A time that is missing or in the future says nothing,
 * so that of the first sight counts. A clock that differs is taken for what keeps the pack.
 */
function endOfGrace(
  modifiedMs: number | undefined,
  firstSeenMs: number,
  { nowMs, aheadMs }: { readonly nowMs: number; readonly aheadMs: number },
): number {
  // Places without times say 1970.
  const isUnknown = modifiedMs === undefined || modifiedMs <= 0 || modifiedMs > nowMs + PRECISION_MS;
  return GRACE_MS + (isUnknown ? firstSeenMs : modifiedMs - Math.min(0, aheadMs));
}

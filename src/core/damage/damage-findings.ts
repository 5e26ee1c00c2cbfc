import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Finding } from '../session/findings.ts';
import { ImpactSearch } from './impact.ts';
import type { SearchPlace } from './impact.ts';
import type { PackReport } from '../store/pack-report.ts';

/** What some of the snapshots need. */
export interface DamageScope {
  readonly snapshots: SearchPlace['snapshots'];
  /** Hex ids of what they need and nothing has: missing chunks, and unreadable trees. */
  readonly lost: readonly string[];
  /** Whether they need a chunk, by its number in the filter. */
  readonly needs: (entry: number) => boolean;
}

/**
 * Reports every damaged or missing pack and every missing chunk, with the files that need the lost chunks. `scope`:
 * default is all snapshots.
 */
export async function findDamage(
  opened: OpenedState,
  reports: readonly PackReport[],
  scope: DamageScope = allSnapshots(opened),
): Promise<Finding[]> {
  const { state, reader } = opened;
  const lost = lostChunks(opened, reports, scope);
  const all = new Set([...scope.lost, ...lost.flatMap(({ chunks }) => chunks)]);
  if (all.size === 0 && lost.length === 0) return [];
  const search = new ImpactSearch({ state, reader, snapshots: scope.snapshots }, all);
  await search.run();
  const findings: Finding[] = lost.map(({ report: { pack, problems }, chunks }) => {
    const isMissing = problems.some(({ kind }) => kind === 'missing');
    return {
      // A process that lost its lock may index packs that are gone. If nothing needs them, nothing is lost.
      severity: isMissing && chunks.length === 0 && opened.listing.deletedIds.length === 0 ? 'warning' : 'error',
      kind: isMissing ? 'pack-missing' : 'pack-damaged',
      packId: pack.id,
      problems,
      impact: search.of(chunks),
    };
  });
  const inPacks = new Set(lost.flatMap(({ chunks }) => chunks));
  const elsewhere = [...all].filter((id) => !inPacks.has(id)).sort();
  if (elsewhere.length > 0) {
    findings.push({
      severity: 'error',
      kind: 'chunk-missing',
      chunkCount: elsewhere.length,
      exampleId: elsewhere[0]!,
      impact: search.of(elsewhere),
    });
  }
  return findings;
}

/** Returns the damaged packs, each with the hex ids of its damaged chunks that are needed and in no other pack. */
export function lostChunks(
  opened: OpenedState,
  reports: readonly PackReport[],
  scope: DamageScope,
): { readonly report: PackReport; readonly chunks: readonly string[] }[] {
  const sound = chunksInSoundCopies(reports);
  const damaged = reports.filter(({ problems }) => problems.length > 0);
  return damaged.map((report) => ({
    report,
    chunks: report.damagedChunks.filter((id) => isNeededFrom(opened, id, report, scope) && !sound.has(id)),
  }));
}

/** All snapshots, and what they need and nothing has. */
export function allSnapshots(opened: OpenedState): DamageScope {
  const { snapshots, unreadableTrees } = opened.state;
  return { snapshots, lost: [...missingChunks(opened), ...unreadableTrees.keys()], needs: () => true };
}

/** Returns the hex ids of damaged chunks that have an intact copy in another pack. */
function chunksInSoundCopies(reports: readonly PackReport[]): Set<string> {
  const damaged = new Set(reports.flatMap(({ damagedChunks }) => damagedChunks));
  const sound = new Set<string>();
  if (damaged.size === 0) return sound;
  for (const { pack, damagedChunks } of reports) {
    const own = new Set(damagedChunks);
    for (const { chunkIds } of pack.blocks) {
      const ids = Buffer.from(chunkIds.buffer, chunkIds.byteOffset, chunkIds.byteLength);
      for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES) {
        const id = ids.toString('hex', offset, offset + CHUNK_ID_BYTES);
        if (damaged.has(id) && !own.has(id)) sound.add(id);
      }
    }
  }
  return sound;
}

/** Returns whether a chunk needs this pack: the state reads the chunk from it, or knows no place to read it from. */
function isNeededFrom({ state }: OpenedState, id: string, report: PackReport, { needs }: DamageScope): boolean {
  const { filter, packs } = state;
  const entry = filter.find(Buffer.from(id, 'hex'), 0);
  if (entry < 0 || !needs(entry)) return false;
  return !filter.hasLocation(entry) || packs.get(filter.packIndexOf(entry)).id === report.pack.id;
}

/** Returns the hex ids of referenced chunks that no known pack contains. */
function missingChunks({ state: { filter } }: OpenedState): string[] {
  const missing: string[] = [];
  if (filter.missingCount === 0) return missing;
  const id = Buffer.alloc(CHUNK_ID_BYTES);
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || filter.hasLocation(entry)) return;
    filter.copyId(entry, id, 0);
    missing.push(id.toString('hex'));
  });
  return missing;
}

import { UsageError, collectStats, measureGrowth, measureUsage } from '../../../index.ts';
import type { ByteString, DiskUsage, SnapshotListing, StatsResult, UsageRow } from '../../../index.ts';
import type { Named } from '../../api.ts';
import type { GrowthAnswer, SpaceAnswer, SpacePart, SpaceSizes } from '../../api/space.ts';
import type { FilterAnswer, StatsAnswer } from '../../api/stats.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { namedOf, pathParameter, snapshotsParameter } from '../parameters.ts';

/** More would be too small to see. */
const PARTS_MAX = 200;
const FILES_MAX = 100;

/** Measures a directory of the snapshots of `ids`, taken as one, and what is in it. */
export async function answerSpace(
  repository: CurrentRepository,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<SpaceAnswer> {
  const listings = await repository.read(async (reader) => snapshotsParameter(reader, parameters));
  if (listings.length === 0) throw new UsageError('ids names no snapshot');
  const path = pathParameter(parameters);
  const root = onlyRoot(listings);
  const usages = await repository.run(async (context) =>
    measureUsage(
      { ...context, signal },
      {
        selectors: listings.map(({ id }) => (path.length === 0 ? id : Buffer.concat([Buffer.from(`${id}:`), path]))),
        asOne: true,
        // Where one path was backed up, the first view shows what is in it.
        depth: path.length === 0 && root === undefined ? 0 : 1,
        largestFiles: FILES_MAX,
      },
    ),
  );
  return describe(usages[0]!, root, listings[0]!.snapshot.base);
}

export async function answerGrowth(repository: CurrentRepository, signal: AbortSignal): Promise<GrowthAnswer> {
  const growth = await repository.run(async (context) => measureGrowth({ ...context, signal }));
  return {
    steps: growth.map(({ listing: { id, snapshot }, storedBytes }) => ({ id, time: snapshot.time, storedBytes })),
  };
}

/** Describes what is stored, as `ldm stats` does. */
export async function answerStats(repository: CurrentRepository, signal: AbortSignal): Promise<StatsAnswer> {
  const stats = await repository.run(async (context) => collectStats({ ...context, signal }));
  const { logicalBytes, uniqueBytes, uniqueChunkCount, storedBytes, dedupRatio, compressionRatio, packs } = stats;
  return {
    logicalBytes,
    uniqueBytes,
    uniqueChunkCount,
    storedBytes,
    dedupRatio,
    compressionRatio,
    filter: filterOf(stats),
    packs,
  };
}

function filterOf({ filter: { fprProbes, ...filter } }: StatsResult): FilterAnswer {
  return { ...filter, probeCount: fprProbes.count };
}

/** The path that all of the snapshots have, if they have no other one. */
function onlyRoot(listings: readonly SnapshotListing[]): ByteString | undefined {
  const roots = new Set(listings.flatMap(({ snapshot }) => snapshot.paths));
  const [root] = roots;
  return roots.size === 1 ? root : undefined;
}

function describe({ rows }: DiskUsage, root: ByteString | undefined, base: ByteString): SpaceAnswer {
  const [total, ...others] = rows;
  const isWhole = total!.path === base;
  const measured = others.find(({ path, isFile }) => isWhole && path === root && !isFile) ?? total!;
  const inside = others.filter(({ path }) => path !== measured.path && parentOf(path) === measured.path);
  return {
    crumbs: crumbsTo(measured.path, [root, base]),
    total: sizesOf(total!),
    parts: largest(inside.map(partOf), sizesOf(total!)),
  };
}

function crumbsTo(path: ByteString, tops: readonly (ByteString | undefined)[]): Named[] {
  const crumbs = [namedOf(path)];
  for (let at = path; !tops.includes(at) && at !== ROOT; crumbs.unshift(namedOf(at))) at = parentOf(at);
  return crumbs;
}

const ROOT = '/' as ByteString;

function parentOf(path: ByteString): ByteString {
  return (path.slice(0, path.lastIndexOf('/')) || ROOT) as ByteString;
}

function sizesOf({ apparentBytes, referencedBytes, onlyHere }: UsageRow): SpaceSizes {
  return { apparentBytes, storedBytes: referencedBytes, onlyHereBytes: onlyHere.storedBytes };
}

function partOf(row: UsageRow): SpacePart {
  return { path: namedOf(row.path), isFile: row.isFile, ...sizesOf(row) };
}

/** The parts that are among the largest by at least one of the sizes. */
function largest(parts: readonly SpacePart[], total: SpaceSizes): SpacePart[] {
  const share = (part: SpacePart): number =>
    Math.max(...SIZES.map((name) => (total[name] === 0 ? 0 : part[name] / total[name])));
  return parts.toSorted((one, other) => share(other) - share(one)).slice(0, PARTS_MAX);
}

const SIZES = ['apparentBytes', 'storedBytes', 'onlyHereBytes'] as const;

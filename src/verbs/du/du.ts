import { assertArguments } from '../../core/session/arguments.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { ReadSnapshots, SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { UsageMeter } from './usage-meter.ts';
import { UsageOfSet } from './usage-of-set.ts';
import type { DiskUsage, UsagePlace } from './usage-of-set.ts';
import { assertCountable, parseSelector, selectSnapshot } from '../../core/snapshots/select-snapshots.ts';
import { noSnapshots } from '../../core/snapshots/unmatched-filter.ts';
import { FILTER_KINDS, matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export type { DiskUsage, UsageRow } from './usage-of-set.ts';

export interface DiskUsageOptions {
  /** `ID[:path]`, `latest`, `latest~N`. Default: `latest`, or with `asOne` all snapshots that match the filter. */
  readonly selectors?: readonly PathInput[] | undefined;
  readonly filter?: SnapshotFilter | undefined;
  /**
   * Takes all snapshots as one: what only they need together. Their paths must be the same. Unless a depth is given,
   * only the total is computed.
   */
  readonly asOne?: boolean | undefined;
  /** How many levels of directories are listed below the paths of a snapshot. Default: 1, or 0 with `asOne`. */
  readonly depth?: number | undefined;
  /** Lists also the largest files of each directory whose directories are listed: as many as this. Default: 0 */
  readonly largestFiles?: number | undefined;
}

/**
 * Measures the space that snapshots, or directories in them, need.
 * @throws CorruptDataError if a tree cannot be read
 * @throws SnapshotNotFoundError if no snapshot is selected
 */
export async function measureUsage(context: OperationContext, options: DiskUsageOptions): Promise<DiskUsage[]> {
  assertArguments<DiskUsageOptions>(context, options, {
    selectors: 'paths',
    filter: FILTER_KINDS,
    asOne: 'flag',
    depth: 'count',
    largestFiles: 'count',
  });
  return await withRepository(context, 'read', async (repository) => {
    const found = await repository.files.readSnapshots();
    repository.shareBlocks(CACHE_BYTES);
    const opened = await repository.openState();
    const places = selectPlaces(context, options, found, opened);
    beginPhase(context.progress, 'measuring');
    const { asOne = false, depth = asOne ? 0 : 1, largestFiles = 0 } = options;
    const listsDirectories = !asOne || options.depth !== undefined;
    const meter = new UsageMeter(opened, new Pacer(context));
    const usages: DiskUsage[] = [];
    for (const set of asOne ? [places] : places.map((place) => [place])) {
      usages.push(await new UsageOfSet(meter, set, { depth, listsDirectories, largestFiles }).measure());
    }
    return usages;
  });
}

/** Directories are read several times: for their sizes, for what they reference, and for what only they need. */
const CACHE_BYTES = 64 * 1024 * 1024;

function selectPlaces(
  context: OperationContext,
  { selectors = [], filter = {}, asOne = false }: DiskUsageOptions,
  found: ReadSnapshots,
  { damage }: OpenedState,
): UsagePlace[] {
  if (selectors.length === 0 && asOne) {
    for (const [snapshotId, reason] of [...found.copied, ...found.damaged])
      context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
    const listings = found.listings.filter(({ snapshot }) => matchesFilter(snapshot, filter));
    if (listings.length === 0) throw noSnapshots(found.listings, filter);
    return listings.map((listing) => ({ listing, path: undefined }));
  }
  const places = new Map<string, UsagePlace>();
  for (const selector of selectors.length === 0 ? ['latest'] : selectors) {
    const { name, path } = parseSelector(selector);
    const listing = selectSnapshot(context, found, name, { filter });
    assertCountable([name], damage.lostSnapshots);
    const place = { listing, path: path === '' ? undefined : absoluteIn(listing, path) };
    places.set(`${listing.id}:${place.path ?? ''}`, place);
  }
  return [...places.values()];
}

function absoluteIn({ snapshot: { base } }: SnapshotListing, path: ByteString): ByteString | undefined {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length === 0) return undefined;
  const inside = names.join('/') as ByteString;
  return path.startsWith('/') ? (`/${inside}` as ByteString) : joinPath(base, inside);
}

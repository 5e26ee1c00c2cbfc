import { UsageError, findEntries } from '../../../index.ts';
import type { ByteString, FindVisitor, FoundEntry, OperationContext, SnapshotListing } from '../../../index.ts';
import type { SearchAnswer, SearchRow } from '../../api/search.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { namedOf } from '../parameters.ts';

const ROWS_MAX = 1000;
/** Paths beyond this are left out, to bound the memory. */
const PATHS_MAX = 100_000;

/** Searches all snapshots for names. */
export async function answerSearch(
  repository: CurrentRepository,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const words = parameters.get('words') ?? '';
  if (words === '') throw new UsageError('there are no words to search for');
  const patterns = [patternOf(words)];
  const newestMs = await repository.read(async ({ snapshots }) => newestOfGroups(snapshots));
  const search = async (context: OperationContext): Promise<SearchAnswer> => {
    const found = new FoundPaths();
    const { snapshotCount, unreadableTrees } = await findEntries(
      { ...context, signal },
      { patterns, ignoresCase: true },
      found,
    );
    const isDeleted = ({ groups, timeMs }: FoundPath): boolean =>
      groups.some((group) => (newestMs.get(group) ?? timeMs) > timeMs);
    const paths = found.sorted().filter((path) => parameters.get('deleted') !== '1' || isDeleted(path));
    return {
      rows: paths.slice(0, ROWS_MAX).map((path) => rowOf(path, isDeleted(path))),
      pathCount: paths.length,
      isCut: found.isCut,
      snapshotCount,
      unreadableCount: unreadableTrees,
    };
  };
  return await repository.run(search, ({ unreadableCount }) => unreadableCount > 0);
}

/** Words without wildcards may be anywhere in a name. After a leading slash, they are the beginning of a path. */
function patternOf(words: string): string {
  if (words === '' || /[*?[]/.test(words)) return words;
  const literal = words.replaceAll('\\', String.raw`\\`);
  return literal.startsWith('/') ? `${literal}*` : `*${literal}*`;
}

interface FoundPath {
  readonly host: string;
  readonly path: ByteString;
  entry: FoundEntry['entry'];
  snapshot: string;
  timeMs: number;
  snapshots: number;
  /** The groups of snapshots that have it. */
  readonly groups: string[];
}

/** Gathers what is found by host and path. */
class FoundPaths implements FindVisitor {
  isCut = false;
  readonly #all: FoundPath[] = [];
  readonly #byHost = new Map<string, Map<ByteString, FoundPath>>();
  #current!: { readonly id: string; readonly host: string; readonly timeMs: number; readonly group: string };

  readonly begin = (listing: SnapshotListing): void => {
    const { hostname: host, time } = listing.snapshot;
    this.#current = { id: listing.id, host, timeMs: Date.parse(time), group: groupOf(listing) };
    if (!this.#byHost.has(host)) this.#byHost.set(host, new Map());
  };

  readonly visit = ({ path, entry }: FoundEntry): void => {
    const { id, host, timeMs, group } = this.#current;
    const paths = this.#byHost.get(host)!;
    const found = paths.get(path);
    if (found === undefined) {
      this.isCut ||= this.#all.length >= PATHS_MAX;
      if (this.isCut) return;
      const added = { host, path, entry, snapshot: id, timeMs, snapshots: 1, groups: [group] };
      paths.set(path, added);
      this.#all.push(added);
      return;
    }
    found.snapshots += 1;
    if (!found.groups.includes(group)) found.groups.push(group);
    if (timeMs >= found.timeMs) Object.assign(found, { entry, snapshot: id, timeMs });
  };

  /** In byte order of the paths. */
  sorted(): FoundPath[] {
    return this.#all.sort((a, b) => compare(a.path, b.path) || compare(a.host, b.host));
  }
}

function rowOf({ host, path, entry, snapshot, timeMs, snapshots }: FoundPath, isDeleted: boolean): SearchRow {
  return {
    host,
    path: namedOf(path),
    type: entry.type,
    ...(entry.type === 'file' ? { bytes: entry.sizeBytes } : {}),
    snapshot,
    time: new Date(timeMs).toISOString(),
    snapshots,
    isDeleted,
  };
}

/** By the host and paths of snapshots, the time of the newest one. `listings`: oldest first. */
function newestOfGroups(listings: readonly SnapshotListing[]): Map<string, number> {
  return new Map(listings.map((listing) => [groupOf(listing), Date.parse(listing.snapshot.time)]));
}

function groupOf({ snapshot }: SnapshotListing): string {
  return JSON.stringify([snapshot.hostname, snapshot.paths]);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

import { SnapshotNotFoundError, UsageError, isDamage } from '../../../index.ts';
import type { RepositoryReader, SnapshotListing, SnapshotReader } from '../../../index.ts';
import type { DirectoryAnswer, TimelineAnswer, TreeAnswer, TreeNode } from '../../api/browse.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { entryRowOf } from '../entry-row.ts';
import { countParameter, namedOf, pathBytes, pathParameter, snapshotParameter } from '../parameters.ts';

const ROWS_MAX = 500;
/** A directory that has more of them is better read as a list. */
const DIRECTORIES_MAX = 200;
const NODES_MAX = 100;

/** Lists the snapshots of the same host and paths as one of them, or as the newest. */
export async function answerTimeline(
  repository: CurrentRepository,
  parameters: URLSearchParams,
): Promise<TimelineAnswer> {
  return await repository.read(async (reader) => {
    const chosen = parameters.has('snapshot') ? snapshotParameter(reader, parameters) : newestOf(reader);
    if (chosen === undefined) return { id: '', host: '', base: { text: '', key: '' }, paths: [], snapshots: [] };
    const series = seriesOf(chosen);
    const { hostname, base, paths } = chosen.snapshot;
    return {
      id: chosen.id,
      host: hostname,
      base: namedOf(base),
      paths: paths.map((path) => namedOf(path)),
      snapshots: reader.snapshots
        .filter((listing) => listing === chosen || seriesOf(listing) === series)
        .map(({ id, snapshot }) => ({ id, time: snapshot.time })),
    };
  });
}

function newestOf({ snapshots }: RepositoryReader): SnapshotListing | undefined {
  return snapshots.findLast(({ snapshot }) => snapshot.hold === undefined);
}

function seriesOf({ snapshot }: SnapshotListing): string {
  return JSON.stringify([snapshot.hostname, snapshot.base, snapshot.paths, snapshot.hold === undefined]);
}

/** Gives a part of a directory, or an entry that is none. */
export async function answerDirectory(
  repository: CurrentRepository,
  parameters: URLSearchParams,
): Promise<DirectoryAnswer> {
  const from = countParameter(parameters, 'from', 0);
  const limit = Math.min(ROWS_MAX, countParameter(parameters, 'limit', ROWS_MAX));
  return await repository.read(async (reader) => {
    const snapshot = reader.open(snapshotParameter(reader, parameters));
    const found = await snapshot.stat(pathParameter(parameters));
    const entry = entryRowOf(found);
    if (found.type !== 'directory') return { entry, from: 0, rows: [], total: 0 };
    const { entries, total } = await snapshot.page(found, { from, limit });
    return { entry, from, rows: entries.map(entryRowOf), total };
  });
}

/** Gives the directories in each of the opened ones. */
export async function answerTree(
  repository: CurrentRepository,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<TreeAnswer> {
  const keys = (parameters.get('open') ?? '').split(',');
  if (keys.length > NODES_MAX) throw new UsageError(`at most ${NODES_MAX} directories can be open`);
  const read = async (reader: RepositoryReader): Promise<TreeAnswer> => {
    const snapshot = reader.open(snapshotParameter(reader, parameters));
    const nodes: TreeNode[] = [];
    for (const key of keys) {
      signal.throwIfAborted();
      const node = await nodeOf(snapshot, key);
      if (node !== undefined) nodes.push(node);
    }
    return { nodes };
  };
  return await repository.read(read, ({ nodes }) => nodes.some(({ error }) => error !== undefined));
}

async function nodeOf(snapshot: SnapshotReader, key: string): Promise<TreeNode | undefined> {
  try {
    const options = { from: 0, limit: DIRECTORIES_MAX, type: 'directory' } as const;
    const { entries, total } = await snapshot.page(pathBytes(key), options);
    return { key, directories: entries.map(({ name }) => namedOf(name)), total };
  } catch (error) {
    // In this snapshot, it is a file or absent.
    if (error instanceof SnapshotNotFoundError || error instanceof UsageError) return undefined;
    if (!isDamage(error)) throw error;
    return { key, directories: [], total: 0, error: error.message };
  }
}

import type { Backend } from '../backend/backend.ts';
import { BackendError, CorruptDataError, SnapshotNotFoundError, UsageError } from '../errors.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { baseName, isId } from '../repository/layout.ts';
import { listOptional } from '../repository/listing.ts';
import { readManifest } from '../repository/manifests.ts';

export interface SnapshotListing {
  readonly id: string;
  readonly snapshot: Snapshot;
}

/** `ID`, `latest` or `latest~N`, and after a colon a path inside the snapshot. */
export interface SnapshotSelector {
  readonly name: string;
  readonly path: string;
}

export function parseSelector(text: string): SnapshotSelector {
  const colon = text.indexOf(':');
  return colon < 0 ? { name: text, path: '' } : { name: text.slice(0, colon), path: text.slice(colon + 1) };
}

export interface ReadSnapshots {
  /** Oldest first. */
  readonly listings: readonly SnapshotListing[];
  /** Manifests that cannot be read, with the reason. */
  readonly damaged: ReadonlyMap<string, string>;
}

/** Every snapshot, or every deleted one that may still be undone. */
export async function readSnapshots(
  backend: Backend,
  options: { readonly deleted?: boolean } = {},
): Promise<ReadSnapshots> {
  const files = options.deleted === true ? await listOptional(backend, 'deleted') : await backend.list('snapshots');
  const listings: SnapshotListing[] = [];
  const damaged = new Map<string, string>();
  for (const id of files.map((file) => baseName(file.name)).filter((name) => isId(name))) {
    try {
      listings.push({ id, snapshot: (await readManifest(backend, id, options)).snapshot });
    } catch (error) {
      // Deleted, or brought back, by another process since the listing.
      if (error instanceof BackendError && error.errno === 'ENOENT') continue;
      if (!(error instanceof CorruptDataError)) throw error;
      damaged.set(id, error.message);
    }
  }
  return { listings: listings.toSorted(byTime), damaged };
}

/** The snapshot that a name means. Only a unique prefix of an id will do. */
export function findSnapshot(snapshots: ReadSnapshots, name: string): SnapshotListing {
  const latest = /^latest(?:~(\d{1,9}))?$/.exec(name);
  return latest === null ? findByPrefix(snapshots, name) : findLatest(snapshots, name, Number(latest[1] ?? 0));
}

function findLatest({ listings }: ReadSnapshots, name: string, back: number): SnapshotListing {
  const found = listings.at(-1 - back);
  if (found !== undefined && back < listings.length) return found;
  throw new SnapshotNotFoundError(`there is no snapshot ${name}: the repository has ${listings.length}`, {
    hint: listings.length === 0 ? 'Make one with `ldm backup`.' : 'See `ldm snapshots`.',
  });
}

function findByPrefix({ listings, damaged }: ReadSnapshots, prefix: string): SnapshotListing {
  if (!/^[0-9a-f]{1,64}$/.test(prefix)) {
    throw new UsageError(`"${prefix}" does not name a snapshot`, {
      hint: 'Give the first digits of an id from `ldm snapshots`, or latest, or latest~1.',
    });
  }
  const damagedMatches = [...damaged].filter(([id]) => id.startsWith(prefix));
  const matches = listings.filter(({ id }) => id.startsWith(prefix));
  if (matches.length + damagedMatches.length > 1) {
    const ids = [...matches.map(({ id }) => id), ...damagedMatches.map(([id]) => id)].map((id) => id.slice(0, 12));
    throw new SnapshotNotFoundError(`${prefix} fits several snapshots: ${ids.join(', ')}`, {
      hint: 'Give more digits.',
    });
  }
  if (damagedMatches[0] !== undefined) throw new CorruptDataError(damagedMatches[0][1], { hint: 'Run `ldm check`.' });
  if (matches[0] !== undefined) return matches[0];
  throw new SnapshotNotFoundError(`no snapshot begins with ${prefix}`, { hint: 'See `ldm snapshots`.' });
}

/** Time is for people; the id decides where two snapshots have the same. */
function byTime(a: SnapshotListing, b: SnapshotListing): number {
  const difference = Date.parse(a.snapshot.time) - Date.parse(b.snapshot.time);
  return difference === 0 ? (a.id < b.id ? -1 : 1) : difference;
}

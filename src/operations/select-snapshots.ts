import type { Backend, BackendFile } from '../backend/backend.ts';
import { CorruptDataError, SnapshotNotFoundError, UsageError, isAbsent, isDamage } from '../errors.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { baseName, isId, manifestCopyName, snapshotName } from '../repository/layout.ts';
import { listOptional } from '../repository/listing.ts';
import { recoverBytes } from '../files/raw-arguments.ts';
import { readManifest, readManifestCopy } from '../repository/manifests.ts';
import type { ByteString } from '../util/byte-string.ts';
import { textOf } from '../util/byte-string.ts';

export interface SnapshotListing {
  readonly id: string;
  readonly snapshot: Snapshot;
}

/** `ID`, `latest` or `latest~N`, and after a colon a path inside the snapshot. */
export interface SnapshotSelector {
  readonly name: string;
  readonly path: ByteString;
}

export function parseSelector(text: string): SnapshotSelector {
  const [bytes] = recoverBytes([text]);
  const [name = '', ...rest] = bytes!.split(':');
  return { name: textOf(name as ByteString), path: rest.join(':') as ByteString };
}

export interface ReadSnapshots {
  /** Whether these are the ones that were deleted and may still be undone. */
  readonly deleted: boolean;
  /** Oldest first. */
  readonly listings: readonly SnapshotListing[];
  /** Snapshots whose manifest is damaged and read from its copy, with the reason; they are listed all the same. */
  readonly copied: ReadonlyMap<string, string>;
  /** Snapshots that are not listed, because their manifest cannot be read or is gone, with the reason. */
  readonly damaged: ReadonlyMap<string, string>;
}

const DAMAGE_HINT = 'Run `ldm check`, then `ldm repair`.';

/** Every snapshot, or every deleted one that may still be undone. */
export async function readSnapshots(
  backend: Backend,
  options: { readonly deleted?: boolean } = {},
): Promise<ReadSnapshots> {
  const deleted = options.deleted === true;
  const copyIds = deleted ? [] : await listIds(backend, 'manifests.bak');
  const ids = deleted ? await listIds(backend, 'deleted') : idsOf(await backend.list('snapshots'));
  const reading: SnapshotReading = { backend, deleted, listings: [], copied: new Map(), damaged: new Map() };
  for (const id of ids) await readInto(reading, id);
  await noteLost(reading, copyIds, ids);
  return { deleted, listings: reading.listings.toSorted(byTime), copied: reading.copied, damaged: reading.damaged };
}

interface SnapshotReading {
  readonly backend: Backend;
  readonly deleted: boolean;
  readonly listings: SnapshotListing[];
  readonly copied: Map<string, string>;
  readonly damaged: Map<string, string>;
}

async function listIds(backend: Backend, directory: string): Promise<string[]> {
  return idsOf(await listOptional(backend, directory));
}

function idsOf(files: readonly BackendFile[]): string[] {
  return files.map((file) => baseName(file.name)).filter((name) => isId(name));
}

async function readInto({ backend, deleted, listings, copied, damaged }: SnapshotReading, id: string): Promise<void> {
  try {
    listings.push({ id, snapshot: (await readManifest(backend, id, { deleted })).snapshot });
  } catch (error) {
    // Deleted, or brought back, by another process since the listing.
    if (isAbsent(error)) return;
    if (!isDamage(error)) throw error;
    const snapshot = deleted ? undefined : await readCopy(backend, id);
    if (snapshot !== undefined) listings.push({ id, snapshot });
    (snapshot === undefined ? damaged : copied).set(id, error.message);
  }
}

async function readCopy(backend: Backend, id: string): Promise<Snapshot | undefined> {
  try {
    return (await readManifestCopy(backend, id)).snapshot;
  } catch (error) {
    if (!isAbsent(error) && !isDamage(error)) throw error;
    return undefined;
  }
}

/** A manifest has a copy only while it is in snapshots/ or deleted/: what is in neither is lost. */
async function noteLost(
  reading: SnapshotReading,
  copyIds: readonly string[],
  listed: readonly string[],
): Promise<void> {
  const present = new Set(listed);
  const candidates = copyIds.filter((id) => !present.has(id));
  if (candidates.length === 0) return;
  const { backend, damaged } = reading;
  const deleted = new Set(await listIds(backend, 'deleted'));
  for (const id of candidates.filter((each) => !deleted.has(each))) {
    // Between two listings it may have been brought back, or reclaimed together with its copy.
    if ((await backend.sizeOf(snapshotName(id))) !== undefined) await readInto(reading, id);
    else if ((await backend.sizeOf(manifestCopyName(id))) !== undefined) damaged.set(id, lostMessage(id));
  }
}

function lostMessage(id: string): string {
  return `${snapshotName(id)} is gone, and nobody deleted the snapshot`;
}

const LATEST = /^latest(?:~(\d{1,9}))?$/;

/** The snapshot that a name means. Only a unique prefix of an id will do. */
export function findSnapshot(snapshots: ReadSnapshots, name: string): SnapshotListing {
  const latest = LATEST.exec(name);
  return latest === null ? findByPrefix(snapshots, name) : findLatest(snapshots, name, Number(latest[1] ?? 0));
}

/** For what only a checkpoint knows: `latest` must not mean an older snapshot because the newest one is lost. */
export function assertCountable(names: readonly string[], lostIds: readonly string[]): void {
  const name = names.find((each) => LATEST.test(each));
  if (name !== undefined && lostIds[0] !== undefined) throw uncountable(name, lostMessage(lostIds[0]));
}

function findLatest({ listings, damaged, deleted }: ReadSnapshots, name: string, back: number): SnapshotListing {
  const [reason] = damaged.values();
  if (reason !== undefined) throw uncountable(name, reason);
  const found = listings.at(-1 - back);
  if (found !== undefined && back < listings.length) return found;
  const [kind, list] = deleted ? ['deleted snapshots', 'ldm snapshots --deleted'] : ['snapshots', 'ldm snapshots'];
  throw new SnapshotNotFoundError(`there is no snapshot ${name}: the repository has ${listings.length} ${kind}`, {
    hint: listings.length === 0 && !deleted ? 'Make one with `ldm backup`.' : `See \`${list}\`.`,
  });
}

/** When a snapshot was made that cannot be read is not known, so neither is which of the others is the latest. */
function uncountable(name: string, reason: string): CorruptDataError {
  return new CorruptDataError(`which snapshot ${name} is cannot be told: ${reason}`, {
    hint: 'Run `ldm check`, then `ldm repair`; or name a snapshot by its id.',
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
  if (damagedMatches[0] !== undefined) throw new CorruptDataError(damagedMatches[0][1], { hint: DAMAGE_HINT });
  if (matches[0] !== undefined) return matches[0];
  throw new SnapshotNotFoundError(`no snapshot begins with ${prefix}`, { hint: 'See `ldm snapshots`.' });
}

/** Time is for people; the id decides where two snapshots have the same. */
function byTime(a: SnapshotListing, b: SnapshotListing): number {
  const difference = Date.parse(a.snapshot.time) - Date.parse(b.snapshot.time);
  return difference === 0 ? (a.id < b.id ? -1 : 1) : difference;
}

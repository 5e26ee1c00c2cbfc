import { readSurely } from '../backend/sure-reading.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError } from '../errors.ts';
import { decodeCondemnation } from '../format/condemnation.ts';
import type { Condemned } from '../format/condemnation.ts';
import { decodeSegment } from '../format/segment.ts';
import type { PackContents } from '../format/pack.ts';
import { decodeSnapshot } from '../format/snapshot.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { sha256 } from '../crypto/sha256.ts';
import type { FilePlace } from '../store/pack-end.ts';
import {
  baseName,
  condemnationName,
  deletedName,
  manifestCopyName,
  segmentName,
  snapshotName,
} from '../format/layout.ts';

/** A snapshot and the bytes of its manifest as they are stored. */
export interface ReadManifest {
  readonly bytes: Uint8Array;
  readonly snapshot: Snapshot;
}

export async function readManifest(
  place: FilePlace,
  id: string,
  options: { readonly deleted?: boolean } = {},
): Promise<ReadManifest> {
  return await readManifestAt(place, options.deleted === true ? deletedName(id) : snapshotName(id));
}

/** The second copy of a manifest. */
export async function readManifestCopy(place: FilePlace, id: string): Promise<ReadManifest> {
  return await readManifestAt(place, manifestCopyName(id));
}

async function readManifestAt(place: FilePlace, name: string): Promise<ReadManifest> {
  const bytes = await readVerified(place, name);
  return { bytes, snapshot: decodeNamed(name, () => decodeManifest(place.seals, bytes)) };
}

/**
 * Decodes a manifest as it is stored.
 * @throws CorruptDataError
 */
export function decodeManifest(seals: Seals, bytes: Uint8Array): Snapshot {
  return decodeSnapshot(seals.open('snapshots', bytes));
}

export async function readSegment(place: FilePlace, id: string): Promise<PackContents[]> {
  const name = segmentName(id);
  const bytes = await readVerified(place, name);
  return decodeNamed(name, () => decodeSegment(place.seals.open('segments', bytes)));
}

export async function readCondemnation(place: FilePlace, id: string): Promise<Condemned> {
  const name = condemnationName(id);
  const bytes = await readVerified(place, name);
  return decodeNamed(name, () => decodeCondemnation(place.seals.open('condemnations', bytes)));
}

/** Reads a file whose name is the SHA-256 of its bytes. */
async function readVerified({ backend }: FilePlace, name: string): Promise<Uint8Array> {
  return await readSurely(backend, name, async (from) => {
    const bytes = await from.read(name);
    if (sha256(bytes) === baseName(name)) return bytes;
    throw new CorruptDataError(`${name}: the content is damaged (its SHA-256 differs from the name)`, {
      advice: { code: 'check-and-repair' },
    });
  });
}

function decodeNamed<T>(name: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(`${name}: ${error.message}`, { cause: error });
  }
}

import type { Backend } from '../backend/backend.ts';
import { CorruptDataError } from '../errors.ts';
import { decodeCondemnation } from '../format/condemnation.ts';
import type { Condemned } from '../format/condemnation.ts';
import { decodeSegment } from '../format/segment.ts';
import type { PackContents } from '../format/pack.ts';
import { decodeSnapshot } from '../format/snapshot.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { sha256 } from '../crypto/sha256.ts';
import {
  baseName,
  condemnationName,
  deletedName,
  manifestCopyName,
  segmentName,
  snapshotName,
} from '../format/layout.ts';

/** A snapshot and the bytes of its manifest. */
export interface ReadManifest {
  readonly bytes: Uint8Array;
  readonly snapshot: Snapshot;
}

export async function readManifest(
  backend: Backend,
  id: string,
  options: { readonly deleted?: boolean } = {},
): Promise<ReadManifest> {
  return await readManifestAt(backend, options.deleted === true ? deletedName(id) : snapshotName(id));
}

/** The second copy of a manifest. */
export async function readManifestCopy(backend: Backend, id: string): Promise<ReadManifest> {
  return await readManifestAt(backend, manifestCopyName(id));
}

async function readManifestAt(backend: Backend, name: string): Promise<ReadManifest> {
  const bytes = await readVerified(backend, name, baseName(name));
  return { bytes, snapshot: decodeNamed(name, () => decodeSnapshot(bytes)) };
}

export async function readSegment(backend: Backend, id: string): Promise<PackContents[]> {
  const name = segmentName(id);
  const bytes = await readVerified(backend, name, id);
  return decodeNamed(name, () => decodeSegment(bytes));
}

export async function readCondemnation(backend: Backend, id: string): Promise<Condemned> {
  const name = condemnationName(id);
  const bytes = await readVerified(backend, name, id);
  return decodeNamed(name, () => decodeCondemnation(bytes));
}

/** Reads a file whose name is the SHA-256 of its bytes. */
async function readVerified(backend: Backend, name: string, id: string): Promise<Uint8Array> {
  const bytes = await backend.read(name);
  if (sha256(bytes) === id) return bytes;
  throw new CorruptDataError(`${name}: the content is damaged (its SHA-256 differs from the name)`, {
    advice: { code: 'check-and-repair' },
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

import { UsageError, nameBytes, textOf } from '../../index.ts';
import type { ByteString, RepositoryReader, SnapshotListing } from '../../index.ts';
import type { Named } from '../api.ts';

/** Enough digits that no two snapshots share them, and few enough that those of 20,000 fit into a request. */
const ID_DIGITS = 16;
const ID = /^[0-9a-f]{16,64}$/;

/** Returns a name or path for the page: its bytes come back unchanged in later questions. */
export function namedOf(name: ByteString): Named {
  return { text: textOf(name), key: Buffer.from(nameBytes(name)).toString('base64url') };
}

/** Returns the bytes of a path that the page has got from `namedOf`. */
export function pathParameter(parameters: URLSearchParams, name = 'path'): Buffer {
  return pathBytes(parameters.get(name) ?? '');
}

export function pathBytes(key: string): Buffer {
  if (!/^[\w-]*$/.test(key)) throw new UsageError('the key of a path is wrong');
  return Buffer.from(key, 'base64url');
}

/** Returns a path that may be one from the root of a snapshot as the absolute one of the machine. */
export function absoluteParameter({ snapshot }: SnapshotListing, parameters: URLSearchParams): Buffer {
  const path = pathParameter(parameters);
  const slash = '/'.charCodeAt(0);
  return path[0] === slash ? path : Buffer.concat([nameBytes(snapshot.base), Buffer.of(slash), path]);
}

/** Returns the snapshot that a question names by its id, or by the first 16 digits of it. */
export function snapshotParameter(
  reader: RepositoryReader,
  parameters: URLSearchParams,
  name = 'snapshot',
): SnapshotListing {
  return snapshotOf(reader, parameters.get(name) ?? '');
}

function snapshotOf(reader: RepositoryReader, id: string): SnapshotListing {
  // A selector could also be `latest`, or a prefix that fits several.
  if (!ID.test(id)) throw new UsageError('snapshot is no id of a snapshot');
  return reader.select(id);
}

export function snapshotsParameter(reader: RepositoryReader, parameters: URLSearchParams): SnapshotListing[] {
  const ids = (parameters.get('ids') ?? '').split(',').filter((id) => id !== '');
  const wanted = new Set(ids.map((id) => id.slice(0, ID_DIGITS)));
  const found = reader.snapshots.filter(({ id }) => wanted.has(id.slice(0, ID_DIGITS)));
  if (found.length !== wanted.size) for (const id of ids) snapshotOf(reader, id);
  return found;
}

export function countParameter(parameters: URLSearchParams, name: string, otherwise: number): number {
  const text = parameters.get(name) ?? `${otherwise}`;
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${name} is no whole number`);
  return value;
}

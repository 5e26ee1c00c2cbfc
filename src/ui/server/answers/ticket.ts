import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { UsageError, dumpOpened, textOf } from '../../../index.ts';
import type { ArchiveFormat, RepositoryReader, SnapshotReader } from '../../../index.ts';
import type { TicketAnswer } from '../../api/browse.ts';
import type { CurrentRepository } from '../current-repository.ts';
import type { Download } from '../downloads.ts';
import { pathParameter, snapshotParameter } from '../parameters.ts';
import type { Tickets } from '../tickets.ts';

/** Control characters, and those that turn the direction of a text around or are not seen. */
const MARKS = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029/\\]/gu;
/** What RFC 8187 does not allow as it is, but `encodeURIComponent` leaves. */
const NOT_ENCODED = /['()*]/g;

type Send = Parameters<Download>[0];

/** Issues a ticket for a file, or for an archive of a directory. What cannot be read at all is said here. */
export async function answerTicket(
  repository: CurrentRepository,
  downloads: Tickets<Download>,
  parameters: URLSearchParams,
): Promise<TicketAnswer> {
  const path = pathParameter(parameters);
  const format = parameters.get('format') ?? '';
  if (format !== 'file' && format !== 'tar' && format !== 'zip') {
    throw new UsageError('the format of a download is file, tar or zip');
  }
  const open = (reader: RepositoryReader): SnapshotReader => reader.open(snapshotParameter(reader, parameters));
  await repository.read(async (reader) => {
    const snapshot = open(reader);
    const entry = await snapshot.stat(path);
    if (format === 'file') await snapshot.readRange(entry, 0, 1);
    else await snapshot.page(entry, { from: 0, limit: 0 });
  });
  const ticket = downloads.issue(async (send, signal) =>
    repository.readOnce(async (reader) => {
      const snapshot = open(reader);
      if (format === 'file') await sendFile(snapshot, path, send);
      else await sendArchive({ snapshot, path, format }, send, signal);
    }),
  );
  return { ticket };
}

async function sendFile(snapshot: SnapshotReader, path: Uint8Array, send: Send): Promise<void> {
  const entry = await snapshot.stat(path);
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': attachmentOf(textOf(entry.name)),
    'content-length': String(entry.sizeBytes),
  };
  await send(headers, snapshot.readFile(entry));
}

interface Archived {
  readonly snapshot: SnapshotReader;
  readonly path: Uint8Array;
  readonly format: ArchiveFormat;
}

async function sendArchive(archived: Archived, send: Send, signal: AbortSignal): Promise<void> {
  const { snapshot, path, format } = archived;
  const { name } = await snapshot.stat(path);
  const title = name === '' ? `snapshot-${snapshot.listing.id.slice(0, 8)}` : textOf(name);
  const headers = {
    'content-type': format === 'zip' ? 'application/zip' : 'application/x-tar',
    'content-disposition': attachmentOf(`${title}.${format}`),
  };
  const content = new PassThrough();
  // A stream that the browser has stopped never drains: what waits for it must end with the sending.
  const sent = new AbortController();
  const either = AbortSignal.any([signal, sent.signal]);
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (!content.write(bytes)) await once(content, 'drain', { signal: either });
  };
  const dumping = dumpOpened({ signal: either }, { ...archived, write }).then(
    () => void content.end(),
    (error: Error) => void content.destroy(error),
  );
  try {
    await send(headers, content);
  } finally {
    sent.abort();
    await dumping;
  }
}

/**
 * Returns a `Content-Disposition` that saves a download under a name: twice, in ASCII for old programs and in UTF-8 (RFC
 * 6266, RFC 8187). Bytes of a name that are not UTF-8 have become U+FFFD.
 */
export function attachmentOf(name: string): string {
  const safe = name.replaceAll(MARKS, '_');
  const ascii = safe.replaceAll(/[^ -~]|["%]/gu, '_');
  const encoded = encodeURIComponent(safe).replaceAll(
    NOT_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

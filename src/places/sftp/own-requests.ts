import type { SftpConnection } from './sftp-connection.ts';
import { textField, uint32, uint64 } from './sftp-fields.ts';

/** Extensions of `ldm serve` (docs/internals/serve-protocol.md). */
export const OPEN_UNDER = 'open@ldm';
const CHAIN = 'chain@ldm';
const EXPECT = 'expect@ldm';
/** A server that has these had them all the last time. */
export const OWN_EXTENSIONS: readonly string[] = [OPEN_UNDER, CHAIN, EXPECT];

/** As many as the server takes. */
const CHAINED_MAX = 4096;

/** Whether the server has all of these requests. */
export function hasOwnRequests(connection: SftpConnection): boolean {
  return OWN_EXTENSIONS.every((extension) => connection.has(extension));
}

/** Why a file is not open, by the handle that it was to get. */
const openings = new WeakMap<Buffer, Promise<void>>();
let handleCount = 0;

/**
 * Opens a file or a directory under a handle of our choice, so that requests for it need not wait. Without flags, a directory
 * is opened to be listed.
 */
export function openUnder(connection: SftpConnection, path: string, flags: number): Buffer {
  handleCount += 1;
  const handle = Buffer.from(`=${handleCount}`);
  const opening = connection.extended(OPEN_UNDER, textField(handle), textField(path), uint32(flags));
  opening.catch(() => undefined);
  openings.set(handle, opening);
  return handle;
}

/** Waits until the file of a handle is open. */
export async function isOpened(handle: Buffer): Promise<void> {
  await openings.get(handle);
}

/** Sends a request for a handle. If that fails because the file was not opened, the error says why it was not. */
export async function onHandle<T>(handle: Buffer, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    await isOpened(handle);
    throw error;
  }
}

/** Succeeds if there is a file whose size is in this range. */
export async function expectFile(
  connection: SftpConnection,
  path: string,
  leastBytes: number,
  mostBytes: number = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  await connection.extended(EXPECT, textField(path), uint64(leastBytes), uint64(mostBytes));
}

/** Whether the server takes a chain of so many requests. */
export function canChain(connection: SftpConnection, count: number): boolean {
  return hasOwnRequests(connection) && count <= CHAINED_MAX;
}

/**
 * Sends requests of which the server does each only if all before it have succeeded. Returns why the first one has failed, and
 * which it is. Each must be sent at once when it is called, with one packet.
 * @throws ConnectionLostError if it is not known which were done
 */
export async function inChain(
  connection: SftpConnection,
  requests: readonly (() => Promise<unknown>)[],
): Promise<{ readonly index: number; readonly error: unknown } | undefined> {
  const sent = [connection.extended(CHAIN, uint32(requests.length)), ...requests.map(async (send) => send())];
  const answers = await Promise.allSettled(sent);
  const index = answers.findIndex(({ status }) => status === 'rejected');
  const first = answers[index];
  return first?.status === 'rejected' ? { index: index - 1, error: first.reason } : undefined;
}

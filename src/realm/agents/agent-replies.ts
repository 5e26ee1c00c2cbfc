import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What a request to an agent is answered with. */
export interface Reply {
  readonly status: number;
  readonly body?: Uint8Array | undefined;
}

/**
 * Waits until an answer is sent, or cannot be. One that waits behind another answer on its connection is not told when
 * that closes.
 */
export async function closeOf(response: ServerResponse, socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  // A client may send many requests without a wait.
  socket.setMaxListeners(0);
  await new Promise<void>((resolve) => {
    const end = (): void => {
      socket.off('close', end);
      resolve();
    };
    socket.once('close', end);
    response.once('close', end);
  });
}

/** A request that is answered with this status and nothing else. */
export class RequestFailure extends Error {
  readonly status: number;

  constructor(status: number) {
    super();
    this.status = status;
  }
}

export function json(value: unknown): Reply {
  return { status: 200, body: Buffer.from(JSON.stringify(value)) };
}

export function found(body: Uint8Array | undefined): Reply {
  return body === undefined ? { status: 404 } : { status: 200, body };
}

/**
 * Reads the body. What is too long is not kept; it is still read from the connection, since a client that cannot send
 * all of it might not receive the answer.
 */
async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw new RequestFailure(413);
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  return await new Promise((resolve, reject) => {
    request.on('data', (part: Buffer) => {
      sizeBytes += part.length;
      if (sizeBytes <= limitBytes) parts.push(part);
      else reject(new RequestFailure(413));
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    // The client has gone, or was too slow.
    request.on('error', () => reject(new RequestFailure(400)));
  });
}

/**
 * Reads a body of items of `itemBytes`, one after another.
 * @throws RequestFailure 413 if there are more than `countMax`, 400 if the last one is incomplete
 */
export async function readItems(request: IncomingMessage, countMax: number, itemBytes: number): Promise<Buffer> {
  const items = await readBody(request, countMax * itemBytes);
  if (items.length % itemBytes !== 0) throw new RequestFailure(400);
  return items;
}

import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * What happens to a request: it is cut off before the server gets it, or its answer is, from the start or halfway; or it
 * gets the error of a server that is busy, or of one that knows no conditions.
 */
export type Fault = 'lost request' | 'lost answer' | 'half answer' | 'wrong answer' | 'busy' | 'no conditions';

type Decide = (request: http.IncomingMessage) => Fault | undefined;

const ERRORS = { busy: [503, 'SlowDown'], 'no conditions': [501, 'NotImplemented'] } as const;

/** A server between a client and another server. Returns its address, and how often each fault has happened. */
export async function startFaultProxy(
  upstream: string,
  decide: Decide,
): Promise<{ readonly endpoint: string; readonly counts: Map<Fault, number> }> {
  const counts = new Map<Fault, number>();
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const fault = decide(request);
      if (fault !== undefined) counts.set(fault, (counts.get(fault) ?? 0) + 1);
      if (fault === 'lost request') request.socket.destroy();
      else if (fault === 'busy' || fault === 'no conditions') refuse(response, fault);
      else {
        forward(upstream, request, Buffer.concat(parts), (answer, body) => {
          if (fault === 'lost answer') request.socket.destroy();
          else if (fault === 'wrong answer')
            response.writeHead(answer.statusCode!, answer.rawHeaders).end(flipped(body));
          else passOn(response, answer, body, fault === undefined);
        });
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counts };
}

let flipCount = 0;

/** Another bit each time. */
function flipped(body: Buffer): Buffer {
  const wrong = Buffer.from(body);
  flipCount += 1;
  if (wrong.length > 0) wrong[(flipCount * 101) % wrong.length]! ^= 1 << (flipCount % 8);
  return wrong;
}

function refuse(response: http.ServerResponse, fault: keyof typeof ERRORS): void {
  const [status, code] = ERRORS[fault];
  response.writeHead(status).end(`<Error><Code>${code}</Code><Message>made &amp; sent</Message></Error>`);
}

/** Passes an answer on, or cuts the connection in the middle of it. */
function passOn(response: http.ServerResponse, answer: http.IncomingMessage, body: Buffer, isWhole: boolean): void {
  response.writeHead(answer.statusCode!, answer.rawHeaders);
  if (isWhole) {
    response.end(body);
    return;
  }
  response.flushHeaders();
  response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

function forward(
  upstream: string,
  request: http.IncomingMessage,
  body: Buffer,
  onAnswer: (answer: http.IncomingMessage, body: Buffer) => void,
): void {
  const { method, url, headers } = request;
  const { hostname, port } = new URL(upstream);
  const forwarded = http.request({ hostname, port, method, path: url, headers, agent: false }, (answer) => {
    const parts: Buffer[] = [];
    answer.on('data', (part: Buffer) => parts.push(part));
    answer.on('end', () => onAnswer(answer, Buffer.concat(parts)));
    answer.on('error', () => request.socket.destroy());
  });
  // The server may have died.
  forwarded.on('error', () => request.socket.destroy());
  forwarded.end(body);
}

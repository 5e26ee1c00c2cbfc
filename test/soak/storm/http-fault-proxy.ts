import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

import type { FaultPlan } from './place.ts';

/** Errors that a server answers with. */
const ERRORS: Readonly<Record<string, readonly [number, string]>> = {
  'error 500': [500, 'InternalError'],
  'error 503': [503, 'SlowDown'],
  'error 429': [429, 'TooManyRequests'],
  'expired keys': [403, 'ExpiredToken'],
  'quota used up': [403, 'QuotaExceeded'],
};
const STALLS = new Set(['stall', 'stall of a minute']);

/** Between one client and an HTTP server. Disturbs the requests of one command as a plan says. */
export class HttpFaultProxy {
  plan: FaultPlan | undefined;
  /** Of the process whose requests pass. */
  pid = 0;
  firedCount = 0;
  readonly endpoint: string;
  readonly #upstream: URL;
  #requestCount = 0;

  private constructor(endpoint: string, upstream: URL) {
    this.endpoint = endpoint;
    this.#upstream = upstream;
  }

  static async start(upstream: string): Promise<HttpFaultProxy> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const proxy = new HttpFaultProxy(endpoint, new URL(upstream));
    server.on('request', (request, response) => proxy.#receive(request, response));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return proxy;
  }

  /** The requests that follow are of a new command. */
  begin(plan: FaultPlan | undefined): void {
    this.plan = plan;
    this.firedCount = 0;
    this.#requestCount = 0;
  }

  #receive(request: http.IncomingMessage, response: http.ServerResponse): void {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('end', () => {
      this.#requestCount += 1;
      const body = Buffer.concat(parts);
      const fault = this.#isDue(request) ? this.plan : undefined;
      if (fault === undefined) this.#forward(request, body, (answer, bytes) => send(response, answer, bytes));
      else this.#disturb(fault, request, response, body);
    });
  }

  #isDue({ method = '', url = '' }: http.IncomingMessage): boolean {
    if (this.plan === undefined || this.#requestCount < this.plan.at) return false;
    const { kind, times } = this.plan;
    // These last until the command ends.
    if (kind === 'quota used up') return method === 'PUT';
    if (kind === 'expired keys') return true;
    if (this.firedCount >= times) return false;
    // A list has no digest, so nothing that a client can do shows that it was damaged.
    if (kind === 'damaged answer' || kind === 'short answer') return method === 'GET' && !url.includes('list-type');
    return kind !== 'half answer' || method === 'GET';
  }

  #disturb(fault: FaultPlan, request: http.IncomingMessage, response: http.ServerResponse, body: Buffer): void {
    const { kind } = fault;
    this.firedCount += 1;
    const error = ERRORS[kind];
    if (error !== undefined) refuse(request, response, error);
    else if (kind === 'reset') request.socket.destroy();
    else if (kind.startsWith('client')) this.#signalClient(fault, request, response, body);
    else if (STALLS.has(kind)) setTimeout(() => this.#passLate(request, response, body), fault.ms);
    else this.#forward(request, body, (answer, bytes) => spoil(kind, request, response, { answer, bytes }));
  }

  /** Either the request is stalled, or its answer. */
  #passLate(request: http.IncomingMessage, response: http.ServerResponse, body: Buffer): void {
    this.#forward(request, body, (answer, bytes) => {
      if (!response.destroyed) send(response, answer, bytes);
    });
  }

  #signalClient(
    { kind, isPassed }: FaultPlan,
    request: http.IncomingMessage,
    response: http.ServerResponse,
    body: Buffer,
  ): void {
    const signal = (): void => void process.kill(this.pid, kind === 'client killed' ? 'SIGKILL' : 'SIGSTOP');
    if (!isPassed) signal();
    this.#forward(request, body, (answer, bytes) => {
      if (isPassed) signal();
      send(response, answer, bytes);
    });
  }

  #forward(
    request: http.IncomingMessage,
    body: Buffer,
    onAnswer: (answer: http.IncomingMessage, bytes: Buffer) => void,
  ): void {
    const { method, url, headers } = request;
    const { hostname, port } = this.#upstream;
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
}

function refuse(
  { method }: http.IncomingMessage,
  response: http.ServerResponse,
  [status, code]: readonly [number, string],
): void {
  response.writeHead(status);
  response.end(method === 'HEAD' ? undefined : `<Error><Code>${code}</Code><Message>by a storm</Message></Error>`);
}

function send(response: http.ServerResponse, answer: http.IncomingMessage, bytes: Buffer): void {
  response.writeHead(answer.statusCode!, answer.rawHeaders).end(bytes);
}

/** Sends an answer that is lost, cut off, too short or damaged. */
function spoil(
  kind: string,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { answer, bytes }: { readonly answer: http.IncomingMessage; readonly bytes: Buffer },
): void {
  if (kind === 'lost answer') {
    request.socket.destroy();
  } else if (kind === 'half answer') {
    response.writeHead(answer.statusCode!, answer.rawHeaders);
    response.flushHeaders();
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  } else if (kind === 'short answer') {
    const part = bytes.subarray(0, bytes.length >> 1);
    const headers = { ...answer.headers, 'content-length': String(part.length) };
    response.writeHead(answer.statusCode!, headers).end(part);
  } else {
    const wrong = Buffer.from(bytes);
    // In the middle.
    if (wrong.length > 0) wrong[wrong.length >> 1]! ^= 0x10;
    response.writeHead(answer.statusCode!, answer.rawHeaders).end(wrong);
  }
}

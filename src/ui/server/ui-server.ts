import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { LdmError, RefusedError, SnapshotNotFoundError, UsageError, isDamage } from '../../index.ts';
import { hintFor } from '../../console/advice.ts';
import type { Download } from './downloads.ts';
import { SAFE_HEADERS, refuseForeign, refuseUnauthorized } from './request-guard.ts';
import type { Refusal } from './request-guard.ts';
import type { Tickets } from './tickets.ts';

/** Answers a question of the page with a value for JSON. */
export type Answer = (parameters: URLSearchParams, signal: AbortSignal) => Promise<unknown>;

interface UiServerOptions {
  readonly answers: ReadonlyMap<string, Answer>;
  readonly downloads: Tickets<Download>;
  /** 0: any that is free. */
  readonly port: number;
  /** The server ends after this time without a request; 0: never. */
  readonly idleMs: number;
  /** Called with what made a request fail and is no `LdmError`. */
  readonly onFailure: (error: unknown) => void;
}

/** For the ids of 25,000 ticked snapshots. */
const MAX_HEADER_BYTES = 512 * 1024;
/** A browser has six. */
const CONNECTIONS_MAX = 200;
const HEADERS_MS = 5000;

/**
 * Serves the page on 127.0.0.1: its files, `/api/<question>` with the token as a bearer header, and `/download/<ticket>`.
 * Nothing that is requested changes anything.
 */
export class UiServer {
  readonly #options: UiServerOptions;
  readonly #token = randomBytes(24).toString('base64url');
  readonly #server: Server;
  readonly #ended: Promise<unknown>;
  #idle: NodeJS.Timeout | undefined;
  #running = 0;

  private constructor(options: UiServerOptions) {
    this.#options = options;
    const limits = { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS, requestTimeout: HEADERS_MS };
    this.#server = createServer(limits, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        // To say that a request failed has failed. The others must not end with it.
        response.destroy();
        options.onFailure(error);
      });
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#ended = new Promise((resolve) => this.#server.once('close', resolve));
  }

  /** Throws `RefusedError` if the port cannot be used. */
  static async start(options: UiServerOptions): Promise<UiServer> {
    const server = new UiServer(options);
    server.#server.listen(options.port, '127.0.0.1');
    try {
      await once(server.#server, 'listening');
    } catch (cause) {
      throw new RefusedError(`the page cannot be served on port ${options.port}: ${(cause as Error).message}`, {
        hint: 'Another program may use this port: choose another one, or none.',
        cause,
      });
    }
    server.#awaitNext();
    return server;
  }

  /** The address of the page with its token, which a browser does not send as it is in the fragment. */
  get address(): string {
    return `http://127.0.0.1:${this.#port}/#${this.#token}`;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when the server has ended. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #awaitNext(): void {
    clearTimeout(this.#idle);
    const { idleMs } = this.#options;
    if (idleMs > 0 && this.#running === 0) this.#idle = setTimeout(() => this.close(), idleMs);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#running += 1;
    clearTimeout(this.#idle);
    for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
    const aborted = new AbortController();
    response.once('close', () => aborted.abort());
    try {
      await this.#answer(request, response, aborted.signal);
    } catch (error) {
      if (!aborted.signal.aborted) this.#fail(response, error);
    } finally {
      this.#running -= 1;
      this.#awaitNext();
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const foreign = refuseForeign(request, this.#port);
    if (foreign !== undefined) return refuse(response, foreign);
    // Not by `URL`, which takes the beginning of `//name` for a host.
    const [, pathname = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(request.url!) ?? [];
    const asset = assetOf(pathname);
    if (asset !== undefined) {
      response.writeHead(200, { 'content-type': asset.type }).end(asset.body);
      return;
    }
    const [, kind, name = ''] = /^\/(api|download)\/([\w-]+)$/.exec(pathname) ?? [];
    if (kind === 'download' && request.method !== 'GET') {
      return refuse(response, { status: 405, reason: 'a download can only be fetched' });
    }
    if (kind === 'download') return await this.#download(response, name, signal);
    if (kind !== 'api') return sendJson(response, 404, { error: 'there is no such page' });
    const unauthorized = refuseUnauthorized(request, this.#token);
    if (unauthorized !== undefined) return refuse(response, unauthorized);
    const answer = this.#options.answers.get(name);
    if (answer === undefined) return sendJson(response, 404, { error: 'there is no such question' });
    sendJson(response, 200, await answer(new URLSearchParams(query), signal));
  }

  async #download(response: ServerResponse, ticket: string, signal: AbortSignal): Promise<void> {
    const download = this.#options.downloads.redeem(ticket);
    if (download === undefined) {
      return sendJson(response, 404, { error: 'this download has expired or was used: begin it again on the page' });
    }
    try {
      await download(async (headers, content) => {
        response.writeHead(200, headers);
        await pipeline(content, response, { signal });
      }, signal);
    } catch (error) {
      // The browser can only say that the download failed. If it stopped itself, there is nothing to say.
      if (response.headersSent && isDamage(error)) this.#options.onFailure(error);
      throw error;
    }
  }

  #fail(response: ServerResponse, error: unknown): void {
    if (!(error instanceof LdmError)) this.#options.onFailure(error);
    // What was begun must not look complete.
    if (response.headersSent) return void response.destroy();
    const message = error instanceof LdmError ? error.message : 'the program failed: see the terminal';
    const hint = error instanceof LdmError ? hintFor(error) : undefined;
    sendJson(response, statusOf(error), { error: message, ...(hint === undefined ? {} : { hint }) });
  }
}

function statusOf(error: unknown): number {
  if (error instanceof SnapshotNotFoundError) return 404;
  return error instanceof UsageError ? 400 : 500;
}

function refuse(response: ServerResponse, { status, reason }: Refusal): void {
  sendJson(response, status, { error: reason });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '/': 'text/html; charset=utf-8',
  '/page.js': 'text/javascript; charset=utf-8',
  '/page.css': 'text/css; charset=utf-8',
  '/icon.svg': 'image/svg+xml',
};

/** Returns a file of the page, which the build has made. None has data of the repository, so they need no token. */
function assetOf(path: string): Asset | undefined {
  const type = Object.hasOwn(TYPES, path) ? TYPES[path] : undefined;
  if (type === undefined) return undefined;
  const name = path === '/' ? 'index.html' : path.slice(1);
  return { type, body: readFileSync(new URL(import.meta.resolve(`#ui/${name}`))) };
}

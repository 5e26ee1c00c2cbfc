import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

import { onTestFinished } from 'vitest';

import type { Answers } from '../../src/ui/api.ts';
import { startUi } from '../../src/ui/server/start-ui.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { TestRepository } from '../support/test-repository.ts';

/** What a server answered. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A page that is served to a test, and ends with it. */
export class ServedPage {
  readonly address: string;
  readonly token: string;
  readonly port: number;
  readonly failures: unknown[];
  readonly close: () => Promise<void>;
  readonly ended: () => Promise<void>;

  constructor(address: string, failures: unknown[], { close, ended }: Pick<ServedPage, 'close' | 'ended'>) {
    const { hash, port } = new URL(address);
    this.close = close;
    this.ended = ended;
    this.address = address;
    this.token = hash.slice(1);
    this.port = Number(port);
    this.failures = failures;
  }

  /** Asks as the page does. Throws what the server says against it. */
  async ask<Name extends keyof Answers>(name: Name, parameters: Record<string, string> = {}): Promise<Answers[Name]> {
    const { status, body } = await this.raw(`/api/${name}?${new URLSearchParams(parameters).toString()}`, {
      authorization: `Bearer ${this.token}`,
    });
    const answer: unknown = JSON.parse(body.toString());
    if (status !== 200) throw new Error(`${status}: ${(answer as { error: string }).error}`);
    return answer as Answers[Name];
  }

  /** Sends a request with exactly these headers, as no browser would. */
  async raw(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<RawAnswer> {
    return await new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.port, path, method, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
        );
      });
      sent.on('error', reject);
      sent.end();
    });
  }
}

export async function servePage(context: OperationContext, idleMs = 0): Promise<ServedPage> {
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const served = await startUi({ context, command: 'ldm', port: 0, idleMs, onFailure });
  const close = async (): Promise<void> => {
    served.close();
    await served.ended();
  };
  onTestFinished(close);
  return new ServedPage(served.address, failures, { close, ended: async () => served.ended() });
}

/** The key of a path, of which each character is a byte. */
export function keyOf(path: string): string {
  return Buffer.from(path, 'latin1').toString('base64url');
}

/** Writes a file of the source. */
export function write(
  { source }: TestRepository,
  name: string | Buffer,
  content: string | Uint8Array = 'content',
): void {
  writeFileSync(Buffer.concat([Buffer.from(`${source}/`), Buffer.from(name as string)]), content);
}

/** What serves a page, and names a path in the newest snapshot. */
interface ServedNewest {
  readonly page: ServedPage;
  readonly snapshot: string;
  readonly at: (path: string) => { readonly snapshot: string; readonly path: string };
}

export async function serveNewest(context: OperationContext): Promise<ServedNewest> {
  const page = await servePage(context);
  const { id: snapshot } = await page.ask('timeline');
  return { page, snapshot, at: (path) => ({ snapshot, path: keyOf(path) }) };
}

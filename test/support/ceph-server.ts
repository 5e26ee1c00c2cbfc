import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll } from 'vitest';

import { S3Client } from '../../src/places/s3/s3-client.ts';
import { CredentialSource } from '../../src/places/s3/credentials.ts';
import { S3Connection } from '../../src/places/s3/s3-connection.ts';
import { missingTools } from './tools.ts';
import { NEEDS_ROOT } from './unprivileged.ts';

/** Where `.ci/install-ceph` unpacks it, beside the packages of the system. */
const ROOT = process.env['LDM_TEST_CEPH'] ?? '/opt/ldm-ceph';
const ATTEMPTS_MAX = 2;

export const CEPH_KEYS = { AWS_ACCESS_KEY_ID: 'ldmkey', AWS_SECRET_ACCESS_KEY: 'ldmsecret0123456789' };
export const BUCKET = 'ldm';

/** Why there is no server for the test; undefined if there is one. */
export function cephProblem(): string | undefined {
  if (existsSync(join(ROOT, 'usr/bin/radosgw'))) return process.getuid?.() === 0 ? undefined : NEEDS_ROOT;
  const missing = missingTools('ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'ceph');
  return missing === '' ? undefined : missing;
}

/** A Ceph on loopback with an empty bucket. */
export class CephServer {
  readonly endpoint: string;
  readonly version: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(
    child: ChildProcessByStdio<Writable, Readable, null>,
    lines: AsyncIterator<string>,
    about: { endpoint: string; version: string },
  ) {
    this.#child = child;
    this.#lines = lines;
    this.endpoint = about.endpoint;
    this.version = about.version;
  }

  static async start(): Promise<CephServer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await CephServer.#startOn(...(await freePorts()));
      } catch (error) {
        // A port may have been taken since it was free.
        if (attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  static async #startOn(port: number, monitorPort: number): Promise<CephServer> {
    const root = existsSync(join(ROOT, 'usr/bin/radosgw')) ? [ROOT] : [];
    const script = join(import.meta.dirname, 'ceph-server.sh');
    const directory = `/dev/shm/ldm-ceph-${process.pid}-${port}`;
    const child = spawn('bash', [script, directory, String(port), String(monitorPort), ...root], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const ready = await lines.next();
    if (ready.done === true) throw new Error('Ceph did not start');
    const endpoint = `http://127.0.0.1:${port}`;
    const server = new CephServer(child, lines, { endpoint, version: ready.value });
    const answer = await s3Client(endpoint).send({ method: 'PUT' });
    if (answer.status !== 200) throw new Error(`no bucket: ${Buffer.from(answer.body).toString()}`);
    return server;
  }

  /** Kills the gateway with SIGKILL. */
  async kill(): Promise<void> {
    await this.#ask('kill');
  }

  /** Starts the gateway again. */
  async restart(): Promise<void> {
    await this.#ask('start');
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }

  async #ask(command: string): Promise<void> {
    this.#child.stdin.write(`${command}\n`);
    await this.#lines.next();
  }
}

/** Starts a server for all tests of a file, if Ceph is installed. Call it at the top of the file. */
export function useCeph(): { readonly server: () => CephServer; readonly problem: string | undefined } {
  const problem = cephProblem();
  let started: CephServer | undefined;
  beforeAll(async () => {
    if (problem === undefined) started = await CephServer.start();
  });
  afterAll(async () => started?.stop());
  return { server: () => started!, problem };
}

/** Returns a client for the bucket of the server. */
export function s3Client(endpoint: string, keys: NodeJS.ProcessEnv = CEPH_KEYS): S3Client {
  return new S3Client(
    { endpoint, bucket: BUCKET, prefix: '', region: 'us-east-1', isPathStyle: true },
    new S3Connection(),
    new CredentialSource(keys, {}, false),
  );
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  const ports: number[] = [];
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ports.push((server.address() as AddressInfo).port);
  }
  for (const server of servers) server.close();
  return [ports[0]!, ports[1]!];
}

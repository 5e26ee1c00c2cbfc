import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

import { CredentialSource } from '../../../src/places/s3/credentials.ts';
import { S3Client } from '../../../src/places/s3/s3-client.ts';
import { S3Connection } from '../../../src/places/s3/s3-connection.ts';

export const KEYS: NodeJS.ProcessEnv = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };

/** A server on this machine, until the test ends. */
export async function serve(listener: http.RequestListener): Promise<string> {
  const server = http.createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function clientOf(endpoint: string, credentials: CredentialSource, silenceMs?: number): S3Client {
  const settings = { endpoint, bucket: 'bucket', prefix: '', region: 'us-east-1', isPathStyle: true };
  const client = new S3Client(settings, new S3Connection({ silenceMs }), credentials);
  onTestFinished(() => client.close());
  return client;
}

export const fixedKeys = (): CredentialSource => new CredentialSource(KEYS, {}, false);

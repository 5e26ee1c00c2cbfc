import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { CredentialSource } from '../../../src/places/s3/credentials.ts';
import { S3Client } from '../../../src/places/s3/s3-client.ts';
import { S3Connection } from '../../../src/places/s3/s3-connection.ts';
import type { RawRequest, S3Answer } from '../../../src/places/s3/s3-connection.ts';
import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { clientOf, fixedKeys, serve } from './s3-support.ts';

const NOW_MS = 1_800_000_000_000;
const OBJECT = '<Contents><Key>a</Key><Size>3</Size></Contents>';

async function storeAnswering(body: string, status = 200): Promise<S3Store> {
  const endpoint = await serve((_request, response) => response.writeHead(status).end(body));
  return new S3Store(clientOf(endpoint, fixedKeys()), '');
}

describe('a list of objects', () => {
  it.each([
    [
      'says that it goes on, and not where',
      `<ListBucketResult><IsTruncated>true</IsTruncated>${OBJECT}</ListBucketResult>`,
    ],
    ['ends in the middle', `<ListBucketResult><IsTruncated>false</IsTruncated>${OBJECT}`],
  ])('is not taken for whole if it %s', async (_what, body) => {
    const store = await storeAnswering(body);
    await expect(store.list('')).rejects.toThrow(/list of objects/);
    await expect(store.children('')).rejects.toThrow(/list of objects/);
  });

  it('is empty where there is no bucket, but not where a proxy finds nothing', async () => {
    const missing = await storeAnswering('<Error><Code>NoSuchBucket</Code></Error>', 404);
    expect(await missing.list('')).toEqual([]);
    const proxy = await storeAnswering('<html>Not Found</html>', 404);
    await expect(proxy.list('')).rejects.toMatchObject({ kind: 'absent', message: 'HTTP status 404' });
  });
});

it('a range is the same from a server that ignores it and sends the whole object', async () => {
  const store = await storeAnswering('0123456789');
  expect(Buffer.from(await store.getRange('a', 3, 4)).toString()).toBe('3456');
});

it('a first answer that is cut off is asked for again', async () => {
  let count = 0;
  const endpoint = await serve((_request, response) => {
    count += 1;
    if (count > 1) {
      response.end('whole');
      return;
    }
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  const store = new S3Store(clientOf(endpoint, fixedKeys()), '');
  const backend = new ObjectBackend('s3:test', store, { retryForMs: 60_000, firstWaitMs: 2 });
  expect(Buffer.from(await backend.read('config')).toString()).toBe('whole');
});

/** Answers without a network. */
class Answers extends S3Connection {
  readonly requests: RawRequest[] = [];
  readonly #answer: (request: RawRequest) => S3Answer;

  constructor(answer: (request: RawRequest) => S3Answer) {
    super();
    this.#answer = answer;
  }

  override async send(request: RawRequest): Promise<S3Answer> {
    this.requests.push(request);
    return this.#answer(request);
  }
}

it('no region leads to a host that is not of Amazon', async () => {
  const connection = new Answers(() => ({
    status: 301,
    headers: { 'x-amz-bucket-region': 'stranger.example/' },
    body: new Uint8Array(),
  }));
  const endpoint = 'https://s3.us-east-1.amazonaws.com';
  const settings = { endpoint, bucket: 'bucket', prefix: '', region: 'us-east-1', isPathStyle: true };
  const client = new S3Client(settings, connection, fixedKeys());
  expect(await client.send({ method: 'GET', key: 'a' })).toMatchObject({ status: 301 });
  expect(connection.requests.map(({ url }) => url.host)).toEqual(['s3.us-east-1.amazonaws.com']);
});

describe('keys from a program', () => {
  it('are asked for again when the server says that they have ended', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'n'), '');
    const end = new Date(NOW_MS * 10).toISOString();
    // Each run prints the next key: k1, k11, k111.
    const program = `cd '${directory}'; printf 1 >> n; printf '{"AccessKeyId":"k%s","SecretAccessKey":"s","Expiration":"${end}"}' "$(cat n)"`;
    const seen: string[] = [];
    const endpoint = await serve((request, response) => {
      seen.push(/Credential=(\w+)/.exec(request.headers.authorization!)![1]!);
      if (seen.at(-1) === 'k1') response.writeHead(400).end('<Error><Code>ExpiredToken</Code></Error>');
      else response.end('content');
    });
    const client = clientOf(endpoint, new CredentialSource({}, { credential_process: program }, false));
    expect(await client.send({ method: 'GET', key: 'a' })).toMatchObject({ status: 200 });
    expect(seen).toEqual(['k1', 'k11']);
  });

  it('are in no message, in whatever form it prints them', async () => {
    const source = new CredentialSource({}, { credential_process: 'echo top-secret' }, false);
    const error = await source.current(NOW_MS).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining('gave no keys for S3: it printed none') });
    expect((error as Error).stack).not.toContain('top-secret');
  });
});

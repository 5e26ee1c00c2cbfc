import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type * as http from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import { StoreError } from '../../../src/places/objects/object-store.ts';
import { readAwsProfile } from '../../../src/places/s3/aws-files.ts';
import { CredentialSource } from '../../../src/places/s3/credentials.ts';
import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { UsageError } from '../../../src/core/errors.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { KEYS, clientOf, fixedKeys, serve } from './s3-support.ts';

const NOW_MS = 1_800_000_000_000;

describe('a client of S3', () => {
  test('takes the time from a server whose clock differs', async () => {
    const serverMs = NOW_MS + 5 * 3_600_000;
    const seen: number[] = [];
    const endpoint = await serve((request, response) => {
      const [, year, month, day, hour, minute, second] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(
        String(request.headers['x-amz-date']),
      )!;
      const clientMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
      seen.push(clientMs);
      response.setHeader('Date', new Date(serverMs).toUTCString());
      if (Math.abs(clientMs - serverMs) < 60_000) response.end('content');
      else response.writeHead(403).end('<Error><Code>RequestTimeTooSkewed</Code></Error>');
    });
    const client = clientOf(endpoint, fixedKeys());
    expect(await client.send({ method: 'GET', key: 'a' })).toMatchObject({ status: 200 });
    expect(await client.send({ method: 'GET', key: 'a' })).toMatchObject({ status: 200 });
    expect(seen).toHaveLength(3);
  });

  test.each([
    ['the clock differs', 403, 'RequestTimeTooSkewed'],
    ['the keys have expired', 400, 'ExpiredToken'],
  ])('finds an object although %s, which the answer to HEAD does not say', async (_what, status, code) => {
    const serverMs = performance.timeOrigin + performance.now() + 5 * 3_600_000;
    let isCorrected = false;
    const endpoint = await serve((request, response) => {
      response.setHeader('Date', new Date(serverMs).toUTCString());
      if (request.method === 'HEAD') response.writeHead(isCorrected ? 200 : status, { 'Content-Length': 0 }).end();
      else if (isCorrected) response.end('<ListBucketResult></ListBucketResult>');
      else {
        isCorrected = true;
        response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
      }
    });
    const end = new Date(serverMs + 3_600_000).toISOString();
    const program = `printf '{"AccessKeyId":"k","SecretAccessKey":"s","Expiration":"${end}"}'`;
    const credentials = new CredentialSource({}, { credential_process: program }, false);
    expect(await new S3Store(clientOf(endpoint, credentials), '').head('a')).toMatchObject({ sizeBytes: 0 });
    expect(isCorrected).toBe(true);
  });

  test('says why an object cannot be examined', async () => {
    const endpoint = await serve((request, response) => {
      response.writeHead(403).end(request.method === 'HEAD' ? '' : '<Error><Code>InvalidAccessKeyId</Code></Error>');
    });
    await expect(new S3Store(clientOf(endpoint, fixedKeys()), '').head('a')).rejects.toMatchObject({
      kind: 'denied',
      message: 'InvalidAccessKeyId',
    });
  });

  test('says what to do if only the examination of an object is refused', async () => {
    const endpoint = await serve((request, response) => {
      if (request.method === 'HEAD') response.writeHead(403).end();
      else response.end('<ListBucketResult></ListBucketResult>');
    });
    await expect(new S3Store(clientOf(endpoint, fixedKeys()), '').head('a')).rejects.toMatchObject({
      kind: 'denied',
      hint: expect.stringContaining('check the policy'),
    });
  });

  test('goes to the region that a server names', async () => {
    const seen: string[] = [];
    const endpoint = await serve((request, response) => {
      seen.push(/\/([^/]+)\/s3\/aws4_request/.exec(request.headers.authorization!)![1]!);
      if (seen.at(-1) === 'eu-west-7') response.end('content');
      else response.writeHead(301, { 'x-amz-bucket-region': 'eu-west-7' }).end();
    });
    const client = clientOf(endpoint, fixedKeys());
    for (let count = 0; count < 2; count += 1) {
      expect(await client.send({ method: 'HEAD', key: 'a' })).toMatchObject({ status: 200 });
    }
    expect(seen).toEqual(['us-east-1', 'eu-west-7', 'eu-west-7']);
  });

  test('notices a server that is silent, or ends its answer early', async () => {
    const silent = clientOf(await serve(() => undefined), fixedKeys(), 50);
    await expect(silent.send({ method: 'GET', key: 'a' })).rejects.toMatchObject({
      kind: 'transient',
      message: expect.stringContaining('has not answered in time'),
    });
    const endpoint = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => response.destroy());
    });
    await expect(clientOf(endpoint, fixedKeys()).send({ method: 'GET', key: 'a' })).rejects.toMatchObject({
      kind: 'transient',
    });
  });

  test('accepts a body where there must be none, as Swift sends it', async () => {
    const server = createServer((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\nabsent'));
      socket.on('error', () => undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const client = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, fixedKeys());
    expect(await client.send({ method: 'HEAD', key: 'a' })).toMatchObject({ status: 404 });
  });

  test('sends the hash of what it sends, and no type', async () => {
    let headers: http.IncomingHttpHeaders = {};
    const endpoint = await serve((request, response) => {
      headers = request.headers;
      request.resume().on('end', () => response.end());
    });
    await new S3Store(clientOf(endpoint, fixedKeys()), 'p').put('a', Buffer.from('abc'));
    expect(headers['x-amz-content-sha256']).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(headers['content-type']).toBeUndefined();
    expect(headers['content-length']).toBe('3');
  });

  test.each([
    [{}, '<Key>a&amp;&#x41;b</Key><Size>3</Size>', 'a&Ab', undefined],
    [
      {},
      '<Key>p%2Ba+b</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified><Size>3</Size>',
      'p%2Ba+b',
      1767323045678,
    ],
    [{ encoded: true }, '<Key>x%2Ba+b</Key><Size>3</Size>', 'x+a b', undefined],
    [
      { encoded: true },
      '<Key>not-UTF-8%FF</Key><LastModified>?</LastModified><Size>3</Size>',
      'not-UTF-8%FF',
      undefined,
    ],
  ])('reads the keys of a list (%o, %s)', async ({ encoded }: { encoded?: boolean }, entry, key, modifiedMs) => {
    const endpoint = await serve((_request, response) =>
      response.end(
        `<?xml version="1.0"?><ListBucketResult xmlns="x">${encoded === true ? '<EncodingType>url</EncodingType>' : ''}<IsTruncated>false</IsTruncated><Contents>${entry}</Contents></ListBucketResult>`,
      ),
    );
    expect(await new S3Store(clientOf(endpoint, fixedKeys()), '').list('')).toEqual([
      { key, sizeBytes: 3, modifiedMs },
    ]);
  });

  test('does not take another page for an empty list, or other bytes for a range', async () => {
    const endpoint = await serve((request, response) => {
      if (request.headers.range === undefined) response.end('<html>please log in</html>');
      else response.writeHead(206, { 'Content-Range': 'bytes 0-3/9' }).end('abcd');
    });
    const store = new S3Store(clientOf(endpoint, fixedKeys()), '');
    await expect(store.list('')).rejects.toThrow('not a list of objects');
    await expect(store.getRange('a', 5, 4)).rejects.toThrow('the server sent other bytes');
  });
});

describe('keys', () => {
  test('come from the environment, then from the profile', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'credentials'), '[default]\naws_access_key_id = A\naws_secret_access_key=B\n');
    writeFileSync(
      join(directory, 'config'),
      '# c\n[profile  work]\nregion = eu-west-7\naws_access_key_id=C\naws_secret_access_key=D=\ns3 =\n  region = x\n',
    );
    const files = {
      AWS_SHARED_CREDENTIALS_FILE: join(directory, 'credentials'),
      AWS_CONFIG_FILE: join(directory, 'config'),
    };
    const keysOf = async (environment: NodeJS.ProcessEnv): Promise<unknown> =>
      new CredentialSource(environment, readAwsProfile(environment), false).current(NOW_MS);
    expect(await keysOf({ ...files, ...KEYS })).toMatchObject({ accessKeyId: 'key', secretAccessKey: 'secret' });
    expect(await keysOf(files)).toMatchObject({ accessKeyId: 'A', secretAccessKey: 'B' });
    const work = { ...files, AWS_PROFILE: 'work' };
    expect(await keysOf(work)).toMatchObject({ accessKeyId: 'C', secretAccessKey: 'D=' });
    expect(readAwsProfile(work)['region']).toBe('eu-west-7');
    expect(() => readAwsProfile({ ...files, AWS_PROFILE: 'none' })).toThrow(/there is no profile "none"/);
  });

  test('from a program are renewed before they end, and its output is in no message', async () => {
    const directory = temporaryDirectory();
    const print = (count: number): string =>
      `printf '{"Version":1,"AccessKeyId":"k%s","SecretAccessKey":"s","SessionToken":"t","Expiration":"${new Date(NOW_MS + 3_600_000).toISOString()}"}' ${count}`;
    const program = `n=$(cat ${directory}/n 2>/dev/null || echo 0); echo $((n+1)) > ${directory}/n; ${print(0).replace(/0$/, '$n')}`;
    const source = new CredentialSource({}, { credential_process: program }, false);
    const ids = [NOW_MS, NOW_MS + 60_000, NOW_MS + 3_500_000].map(
      (nowMs) => async () => (await source.current(nowMs)).accessKeyId,
    );
    const seen: string[] = [];
    for (const id of ids) seen.push(await id());
    expect(seen).toEqual(['k0', 'k0', 'k1']);
    expect(await source.forget(await source.current(NOW_MS + 3_500_000))).toBe(true);
    const failing = new CredentialSource(
      {},
      { credential_process: 'echo top-secret; echo top-secret >&2; exit 3' },
      false,
    );
    const error = await failing.current(NOW_MS).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: 'the program in credential_process gave no keys for S3: it ended with 3' });
    expect(JSON.stringify(error)).not.toContain('top-secret');
  });

  test('come from the machine or the container, but only for servers of Amazon', async () => {
    const answer = { AccessKeyId: 'm', SecretAccessKey: 's', Token: 't', Expiration: new Date(NOW_MS).toISOString() };
    const endpoint = await serve((request, response) => {
      const isAllowed =
        request.headers['x-aws-ec2-metadata-token'] === 'token' || request.headers.authorization === 'pass';
      if (request.method === 'PUT' && request.url === '/latest/api/token') response.end('token');
      else if (!isAllowed) response.writeHead(401).end();
      else if (request.url === '/latest/meta-data/iam/security-credentials/') response.end('role\n');
      else response.end(JSON.stringify(answer));
    });
    const machine = { AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint };
    const container = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${endpoint}/keys`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'pass',
    };
    for (const environment of [machine, container]) {
      const keys = await new CredentialSource(environment, {}, true).current(NOW_MS);
      expect(keys).toMatchObject({ accessKeyId: 'm', sessionToken: 't', endMs: NOW_MS });
      await expect(new CredentialSource(environment, {}, false).current(NOW_MS)).rejects.toThrow('there are no keys');
    }
    for (const [environment, reason] of [
      [{ ...container, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'wrong' }, /gave no keys for S3: HTTP status 401$/],
      [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/' }, /gave no keys for S3: /],
      [{ ...container, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/nonexistent' }, /^cannot read the token in AWS_/],
    ] as const) {
      const error = await new CredentialSource(environment, {}, true).current(NOW_MS).catch((why: unknown) => why);
      expect(error instanceof StoreError || error instanceof UsageError).toBe(true);
      expect((error as Error).message).toMatch(reason);
    }
    const off = { ...machine, AWS_EC2_METADATA_DISABLED: 'true' };
    await expect(new CredentialSource(off, {}, true).current(NOW_MS)).rejects.toThrow('there are no keys');
  });
});

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';

import { S3Store } from '../../../src/places/s3/s3-store.ts';
import type { S3Writes } from '../../../src/places/s3/s3-writes.ts';
import { makeScenario } from '../../cli/scenario.ts';
import { KEYS, clientOf, fixedKeys, serve } from './s3-support.ts';

const PACK = `packs/ab/ab${'0'.repeat(62)}`;

/** Returns the headers with which each of these objects of 200 kB is written. */
async function headersOf(
  writes: S3Writes,
  sizeBytes: number,
  ...names: string[]
): Promise<Map<string, NodeJS.Dict<unknown>>> {
  const seen = new Map<string, NodeJS.Dict<unknown>>();
  const endpoint = await serve((request, response) => {
    seen.set(request.url!.slice('/bucket/p/'.length), request.headers);
    request.resume().on('end', () => response.end());
  });
  const store = new S3Store(clientOf(endpoint, fixedKeys()), 'p', writes);
  for (const name of names) await store.put(name, Buffer.alloc(sizeBytes));
  return seen;
}

test('only packs have a storage class, unless they are so small that it would cost more', async () => {
  const names = [PACK, 'config', 'index/a', 'snapshots/a', 'manifests.bak/a', 'filter/a', 'locks/a', 'keys/a'];
  const classOf = async (sizeBytes: number): Promise<string[]> =>
    [...(await headersOf({ storageClass: 'STANDARD_IA' }, sizeBytes, ...names))]
      .filter(([, headers]) => headers['x-amz-storage-class'] === 'STANDARD_IA')
      .map(([name]) => name);
  expect(await classOf(128 * 1024)).toEqual([PACK]);
  expect(await classOf(128 * 1024 - 1)).toEqual([]);
});

test('what a group has of a repository is retained like the repository', async () => {
  const retention = { days: 1, mode: 'COMPLIANCE' } as const;
  const kept = ['metadata/config', 'metadata/snapshots/a', 'group-id', PACK, 'groups', 'index/commit-000000000001'];
  const others = [
    'metadata/filter/a',
    'metadata/locks/a',
    'reserve',
    'planes/000000000001/base-000000000001',
    'deleted/a',
  ];
  const seen = await headersOf({ retention }, 10, ...kept, ...others);
  const isRetained = (name: string): boolean => 'x-amz-object-lock-mode' in seen.get(name)!;
  expect(kept.map(isRetained)).toEqual(kept.map(() => true));
  expect(others.map(isRetained)).toEqual(others.map(() => false));
});

test('a server that demands a digest gets one from then on', async () => {
  const digests: unknown[] = [];
  const endpoint = await serve((request, response) => {
    const given = request.headers['content-md5'];
    if (request.method === 'PUT') digests.push(given);
    const message =
      'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters';
    const refusal = `<Error><Code>InvalidRequest</Code><Message>${message}</Message></Error>`;
    request.resume().on('end', () => {
      if (request.method === 'PUT' && given === undefined) response.writeHead(400).end(refusal);
      else response.end();
    });
  });
  const store = new S3Store(clientOf(endpoint, fixedKeys()), '');
  await store.put('a', Buffer.from('abc'));
  await store.put('b', Buffer.from('abc'));
  const digest = createHash('md5').update('abc').digest('base64');
  expect(digests).toEqual([undefined, digest, digest]);
});

test.each(['GLACIER', 'deep_archive'])('packs are not written to %s, which cannot be read at once', async (name) => {
  const { run } = await makeScenario();
  const given = await run(['snapshots', '--s3-storage-class', name], { env: KEYS });
  expect([given.code, given.stderr]).toEqual([2, expect.stringContaining('Nothing can be read from an archive')]);
  expect(await run(['snapshots'], { env: { ...KEYS, LDM_S3_STORAGE_CLASS: name } })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a class that can be read at once'),
  });
});

test('an object that was moved to an archive is an error that says what to do', async () => {
  const endpoint = await serve((_request, response) => {
    const code = '<Error><Code>InvalidObjectState</Code><Message>The operation is not valid</Message></Error>';
    response.writeHead(403).end(code);
  });
  await expect(new S3Store(clientOf(endpoint, fixedKeys()), '').get(PACK)).rejects.toMatchObject({
    message: expect.stringContaining('InvalidObjectState'),
    hint: expect.stringContaining('restore it to the bucket'),
  });
});

import { expect, test } from 'vitest';

import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { clientOf, fixedKeys, serve } from './s3-support.ts';

/** The objects of a server that refuses requests with conditions, as some do. */
async function storeWithoutConditions(objects: Map<string, string>): Promise<S3Store> {
  const endpoint = await serve((request, response) => {
    const key = request.url!.slice('/bucket/'.length);
    const old = objects.get(key);
    const sent: Buffer[] = [];
    request.on('data', (bytes: Buffer) => sent.push(bytes));
    request.on('end', () => {
      const isConditional = 'if-none-match' in request.headers || 'if-match' in request.headers;
      if (isConditional) response.writeHead(501).end('<Error><Code>NotImplemented</Code></Error>');
      else if (request.method === 'PUT') {
        objects.set(key, Buffer.concat(sent).toString());
        response.end();
      } else if (old === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'Content-Length': old.length, ETag: `"${old}"` }).end(old);
    });
  });
  return new S3Store(clientOf(endpoint, fixedKeys()), '');
}

test('a server that knows no conditions is asked before an object is created', async () => {
  const objects = new Map([['taken', 'old']]);
  const store = await storeWithoutConditions(objects);
  await expect(store.put('taken', Buffer.from('new'), { ifAbsent: true })).rejects.toMatchObject({ kind: 'exists' });
  expect(store.isShared).toBe(false);
  const other = await storeWithoutConditions(objects);
  await other.put('free', Buffer.from('new'), { ifAbsent: true });
  expect([...objects]).toEqual([
    ['taken', 'old'],
    ['free', 'new'],
  ]);
});

test('a server that knows no conditions is asked before an object is replaced', async () => {
  const objects = new Map([['lock', 'second']]);
  const store = await storeWithoutConditions(objects);
  expect(await store.replace('lock', Buffer.from('mine'), 'first')).toBe(false);
  expect(objects.get('lock')).toBe('second');
  expect(await store.replace('lock', Buffer.from('mine'), 'second')).toBe(true);
  expect(objects.get('lock')).toBe('mine');
});

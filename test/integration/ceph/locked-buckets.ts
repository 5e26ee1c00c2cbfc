import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { DEFAULT_RETENTION, PLAIN, VERSIONS, changeSource, makeBucket, makeUsers, versionsIn } from './users.ts';

describe('a bucket that keeps what is removed', () => {
  test.each([
    ['versions', false, {}],
    ['a default retention', true, {}],
    ['object lock and a retention of each object', true, { LDM_S3_RETENTION: '1' }],
  ])('with %s is used from init to compact', async (what, hasObjectLock, env) => {
    const { bucket, send } = await makeBucket(hasObjectLock);
    if (!hasObjectLock) await send({ method: 'PUT', query: { versioning: '' }, body: Buffer.from(VERSIONS) });
    const hasDefault = what === 'a default retention';
    if (hasDefault) await send({ method: 'PUT', query: { 'object-lock': '' }, body: Buffer.from(DEFAULT_RETENTION) });
    const stage = await makeUsers(bucket, env);
    const succeed = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await stage.runAs('ldm', ...args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      return stdout;
    };
    await succeed('init', ...PLAIN);
    for (const seed of [1, 2, 3]) {
      changeSource(stage, seed);
      await succeed('backup', 'source');
    }
    const packs = (await versionsIn(send)).filter(({ key }) => key.startsWith('laptop/packs/'));
    expect(await succeed('delete', 'latest~2')).toContain('which the bucket keeps as old versions');
    await succeed('tag', 'latest', '--add', 'kept');
    await succeed('delete', 'latest~1', '--undo-for', '1d');
    await succeed('undelete', 'latest');
    await succeed('forget', '--keep-last', '1');
    await succeed('compact', '--max-unused', '0');
    await succeed('check', '--read-data');
    await succeed('restore', 'latest', '-t', 'out');
    const restored = readFileSync(join(stage.directory, 'out/source/large'));
    expect(restored.equals(readFileSync(join(stage.source, 'large')))).toBe(true);
    expect(await succeed('stats')).toMatch(/old versions +\d+\.\d MiB in \d+ objects/);
    // The owner of the bucket cannot remove what is retained, and can remove what is not.
    const statuses = new Set<number>();
    for (const { key, id } of packs)
      statuses.add((await send({ method: 'DELETE', key, query: { versionId: id } })).status);
    expect([...statuses]).toEqual([hasObjectLock ? 403 : 204]);
  });

  test('extends what ends too early, and cannot shorten it', async () => {
    const { bucket, send } = await makeBucket(true);
    const stage = await makeUsers(bucket, { LDM_S3_RETENTION: '1' });
    await stage.runAs('ldm', 'init', ...PLAIN);
    expect(await stage.runAs('ldm', 'backup', 'source')).toMatchObject({ code: 0 });
    const endsMs = async (): Promise<number[]> => {
      const packs = (await versionsIn(send)).filter(({ key }) => key.startsWith('laptop/packs/'));
      const answers = await Promise.all(packs.map(async ({ key }) => send({ method: 'HEAD', key })));
      return answers.map(({ headers }) => Date.parse(String(headers['x-amz-object-lock-retain-until-date'])));
    };
    const first = await endsMs();
    const { code, stdout } = await stage.runAs('ldm', 'backup', 'source', '--s3-retention', '3', '-v');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/extended the retention of \d+ of \d+ objects/)]);
    const later = await endsMs();
    expect(Math.min(...later)).toBeGreaterThanOrEqual(Math.max(...first) + 2 * 24 * 3_600_000);
    // Less than was asked for before.
    expect(await stage.runAs('ldm', 'backup', 'source', '--s3-retention', '2')).toMatchObject({ code: 0, stderr: '' });
    expect(await endsMs()).toEqual(later);
  });

  test('without object lock refuses a repository with a retention', async () => {
    const { bucket } = await makeBucket(false);
    const { runAs } = await makeUsers(bucket);
    const { code, stderr } = await runAs('ldm', 'init', ...PLAIN, '--s3-retention', '30');
    expect([code, stderr]).toEqual([1, expect.stringContaining('A retention needs a bucket with object lock')]);
  });

  test('has only larger packs in another storage class', async () => {
    const { bucket, send } = await makeBucket(false);
    const stage = await makeUsers(bucket, { LDM_S3_STORAGE_CLASS: 'STANDARD_IA' });
    await stage.runAs('ldm', 'init', ...PLAIN);
    changeSource(stage, 4);
    expect(await stage.runAs('ldm', 'backup', 'source')).toMatchObject({ code: 0 });
    const xml = Buffer.from((await send({ method: 'GET', query: { 'list-type': '2' } })).body).toString();
    const objects = [...xml.matchAll(/<Key>(.*?)<.*?<Size>(\d+)<.*?<StorageClass>(.*?)</g)];
    for (const [, key, size, storageClass] of objects) {
      const isRare = key!.startsWith('laptop/packs/') && Number(size) >= 128 * 1024;
      expect([key, storageClass]).toEqual([key, isRare ? 'STANDARD_IA' : 'STANDARD']);
    }
    expect(objects.some(([, , , storageClass]) => storageClass === 'STANDARD_IA')).toBe(true);
    changeSource(stage, 5);
    const { code, stderr } = await stage.runAs('ldm', 'backup', 'source', '--s3-storage-class', 'NO_SUCH');
    expect([code, stderr]).toEqual([1, expect.stringContaining('the server has no such storage class')]);
    expect(await stage.runAs('ldm', 'check', '--read-data')).toMatchObject({ code: 0 });
  });
});

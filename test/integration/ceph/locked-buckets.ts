import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { S3Client } from '../../../src/places/s3/s3-client.ts';
import type { S3Request } from '../../../src/places/s3/s3-client.ts';
import { CredentialSource } from '../../../src/places/s3/credentials.ts';
import { S3Connection } from '../../../src/places/s3/s3-connection.ts';
import type { S3Answer } from '../../../src/places/s3/s3-connection.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { server } from './server.ts';

type User = 'ldm' | 'laptop' | 'keeper';
type Send = (request: S3Request, user?: User) => Promise<S3Answer>;

const PLAIN = ['--no-encryption', '--capacity', '4096'];
const DEFAULT_RETENTION =
  '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention></Rule></ObjectLockConfiguration>';
const VERSIONS = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
let count = 0;

const keysOf = (user: User): Record<string, string> => ({
  AWS_ACCESS_KEY_ID: `${user}key`,
  AWS_SECRET_ACCESS_KEY: `${user}secret0123456789`,
});

/** A new bucket of the user ldm. */
async function makeBucket(hasObjectLock: boolean): Promise<{ readonly bucket: string; readonly send: Send }> {
  const bucket = `kept-${(count += 1)}`;
  const settings = { endpoint: server().endpoint, bucket, prefix: '', region: 'us-east-1', isPathStyle: true };
  const send: Send = async (request, user = 'ldm') => {
    const client = new S3Client(settings, new S3Connection(), new CredentialSource(keysOf(user), {}, false));
    const answer = await client.send(request);
    client.close();
    return answer;
  };
  const headers = hasObjectLock ? { 'x-amz-bucket-object-lock-enabled': 'true' } : {};
  expect((await send({ method: 'PUT', headers })).status).toBe(200);
  return { bucket, send };
}

type RunAs = (user: User, ...args: string[]) => ReturnType<Scenario['run']>;

async function makeUsers(bucket: string, env: NodeJS.ProcessEnv = {}): Promise<Scenario & { readonly runAs: RunAs }> {
  const scenario = await makeScenario();
  const place = { LDM_REPOSITORY: `s3:${server().endpoint}/${bucket}/laptop`, ...env };
  const runAs: RunAs = async (user, ...args) => scenario.run(args, { env: { ...place, ...keysOf(user) } });
  return { ...scenario, runAs };
}

interface Version {
  readonly key: string;
  readonly id: string;
}

/** All versions of objects in a bucket that has less than a page of them. */
async function versionsIn(send: Send): Promise<Version[]> {
  const xml = Buffer.from((await send({ method: 'GET', query: { versions: '' } })).body).toString();
  expect(xml).toContain('<IsTruncated>false<');
  return [...xml.matchAll(/<Version><Key>(.*?)<\/Key><VersionId>(.*?)<\/VersionId>/g)].map(([, key, id]) => ({
    key: key!,
    id: id!,
  }));
}

function changeSource({ source }: Scenario, seed: number): void {
  writeFileSync(join(source, 'large'), createPrng(seed).bytes(3_000_000));
}

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

/** The policy in the documentation, for a bucket and the users of the server, which have no account. */
function documentedPolicy(bucket: string): Buffer {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/buckets.md'), 'utf8');
  const [, text] = /```json\n(\{\n {2}"Version"[^]*?)```/.exec(page)!;
  return Buffer.from(text!.replaceAll(':::backups', `:::${bucket}`).replaceAll('::111122223333:', ':::'));
}

describe('a bucket with the policy of the documentation', () => {
  test('lets one machine only add, and another one forget', async () => {
    const { bucket, send } = await makeBucket(true);
    expect((await send({ method: 'PUT', query: { policy: '' }, body: documentedPolicy(bucket) })).status).toBe(204);
    const stage = await makeUsers(bucket, { LDM_S3_RETENTION: '1' });
    const { runAs } = stage;
    const succeed = async (user: User, ...args: string[]): Promise<void> => {
      const { code, stderr } = await runAs(user, ...args);
      expect([user, args[0], code, stderr]).toEqual([user, args[0], 0, '']);
    };
    await succeed('keeper', 'init', ...PLAIN, '--append-only');
    for (const seed of [6, 7, 8]) {
      changeSource(stage, seed);
      await succeed('laptop', 'backup', 'source');
    }
    await succeed('laptop', 'check', '--read-data');
    await succeed('laptop', 'restore', 'latest', '-t', 'out');
    await succeed('laptop', 'stats');
    const listed = async (): Promise<string[]> => (await versionsIn(send)).filter(isLasting).map(({ id }) => id);
    const isLasting = ({ key }: Version): boolean => !/\/(locks|tmp|filter|unfinished|verified)\//.test(key);
    const before = await listed();
    const overriding = ['delete latest', 'forget --keep-last 1'].map((words) => `${words} --override-append-only`);
    for (const words of [...overriding, 'delete latest', 'forget --keep-last 1', 'compact', 'tag latest --add x']) {
      const { code, stderr } = await runAs('laptop', ...words.split(' '));
      const reason = words.endsWith('-only') ? 'AccessDenied' : 'the repository is append-only';
      expect([words, code, stderr]).toEqual([words, 1, expect.stringContaining(reason)]);
      expect([words, await listed()]).toEqual([words, before]);
    }
    await expectAttacksRefused(send);
    await succeed('laptop', 'check', '--read-data');
    await succeed('keeper', 'forget', '--keep-last', '1', '--override-append-only');
    await succeed('keeper', 'check', '--read-data');
    await succeed('keeper', 'stats');
    // Not even the keeper can remove a version.
    for (const { key, id } of (await versionsIn(send)).filter(isLasting)) {
      const { status } = await send({ method: 'DELETE', key, query: { versionId: id } }, 'keeper');
      expect([key, status]).toEqual([key, 403]);
    }
  });
});

/** What a thief of the keys of the laptop would try. */
async function expectAttacksRefused(send: Send): Promise<void> {
  const pack = (await versionsIn(send)).find(({ key }) => key.includes('/packs/'))!;
  const soon = new Date(Date.now() + 60_000).toISOString().replace(/\.\d+/, '');
  const shorter = `<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>${soon}</RetainUntilDate></Retention>`;
  const text = (body: string): { readonly body: Buffer } => ({ body: Buffer.from(body) });
  const attacks: readonly S3Request[] = [
    { method: 'DELETE', key: pack.key },
    { method: 'DELETE', key: pack.key, query: { versionId: pack.id } },
    { method: 'PUT', key: pack.key, query: { retention: '' }, ...text(shorter) },
    { method: 'DELETE', key: 'laptop/config' },
    ...['config', 'keys/a', 'deleted/a', 'condemned/a', 'quarantine/a'].map((name): S3Request => ({
      method: 'PUT',
      key: `laptop/${name}`,
      ...text('x'),
    })),
    { method: 'PUT', key: 'other/packs/a', ...text('x') },
    { method: 'GET', query: { 'list-type': '2', prefix: 'other/' } },
    { method: 'PUT', query: { policy: '' }, ...text('{}') },
    { method: 'DELETE', query: { policy: '' } },
    { method: 'PUT', query: { versioning: '' }, ...text(VERSIONS.replace('Enabled', 'Suspended')) },
    { method: 'PUT', query: { 'object-lock': '' }, ...text(DEFAULT_RETENTION) },
    { method: 'DELETE', query: { lifecycle: '' } },
    { method: 'DELETE' },
  ];
  for (const attack of attacks) {
    const { method, key, query } = attack;
    expect([method, key, query, (await send(attack, 'laptop')).status]).toEqual([method, key, query, 403]);
  }
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { S3Request } from '../../../src/places/s3/s3-client.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { DEFAULT_RETENTION, PLAIN, VERSIONS, changeSource, makeBucket, makeUsers, versionsIn } from './users.ts';
import type { Send, User, Version } from './users.ts';

/** The policy in the documentation, for a bucket and the users of the server, which have no account. */
function documentedPolicy(bucket: string): Buffer {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/buckets.md'), 'utf8');
  const [, text] = /```json\n(\{\n {2}"Version"[^]*?)```/.exec(page)!;
  return Buffer.from(text!.replaceAll(':::backups', `:::${bucket}`).replaceAll('::111122223333:', ':::'));
}

test('the policy of the documentation lets one machine only add, and another one forget', async () => {
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
  // What it can do: write over what exists. The keeper sees the bucket as it was. Ceph counts whole seconds.
  const timeMs = (Math.floor(Date.now() / 1000) + 1) * 1000;
  await waitUntil(() => Date.now() >= timeMs, 'the next second');
  const time = new Date(timeMs).toISOString();
  const isTarget = ({ key }: Version): boolean => /\/(packs|snapshots)\//.test(key);
  for (const { key } of (await versionsIn(send)).filter(isTarget))
    expect((await send({ method: 'PUT', key, body: Buffer.from('x') }, 'laptop')).status).toBe(200);
  expect((await runAs('laptop', 'check')).code).not.toBe(0);
  await succeed('keeper', 'check', '--read-data', '--s3-as-of', time);
  await succeed('keeper', 'init', ...PLAIN, '-r', 'recovered');
  await succeed('keeper', 'copy', '--to', 'recovered', '--s3-as-of', time);
  await succeed('keeper', 'check', '--read-data', '-r', 'recovered');
  expect((await runAs('laptop', 'snapshots', '--s3-as-of', time)).stderr).toContain('AccessDenied');
  for (const { key, id } of (await versionsIn(send)).filter(isTarget))
    if (!before.includes(id)) await send({ method: 'DELETE', key, query: { versionId: id } });
  await succeed('keeper', 'check', '--read-data');
  await succeed('keeper', 'forget', '--keep-last', '1', '--override-append-only');
  await succeed('keeper', 'check', '--read-data');
  await succeed('keeper', 'stats');
  // Not even the keeper can remove a version.
  for (const { key, id } of (await versionsIn(send)).filter(isLasting)) {
    const { status } = await send({ method: 'DELETE', key, query: { versionId: id } }, 'keeper');
    expect([key, status]).toEqual([key, 403]);
  }
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

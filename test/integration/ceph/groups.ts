import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { rankGroups } from '../../../src/core/groups/placement.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import type { Bucket } from '../../support/buckets.ts';
import { BUCKET, CEPH_KEYS, s3Client } from '../../support/ceph-server.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { MODEL_NAMES, runGroupModel } from '../../support/group-model.ts';
import { makeGrouped } from '../../support/grouped-repository.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { server } from './server.ts';

let count = 0;
/** With this weight the bucket gets fewer than two of nine packs in one run of 10^10. */
const MOST = 20;

interface Stage extends Scenario {
  /** The place of a group in the bucket. */
  readonly cloud: string;
  /** Fails unless the command succeeds without a warning. */
  readonly expectSuccess: (...args: string[]) => Promise<string>;
  /** Returns the last line of a successful command with `--json`. */
  readonly summaryOf: (...args: string[]) => Promise<Record<string, unknown>>;
}

/**
 * A scenario with a repository whose groups are a directory and a bucket. `weight`: the share of the bucket relative to
 * that of the directory. A backup has few packs, so with the same share the bucket may get none.
 */
async function makeStage(endpoint: string = server().endpoint, weight = 1): Promise<Stage> {
  const scenario = await makeScenario();
  const { directory, repository } = scenario;
  rmSync(repository, { recursive: true });
  const cloud = `s3:${endpoint}/${BUCKET}/group-${(count += 1)}`;
  const run: Scenario['run'] = async (args, options = {}) =>
    scenario.run(args, { ...options, env: { ...CEPH_KEYS, ...options.env } });
  const expectSuccess = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args);
    expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
    return stdout;
  };
  await expectSuccess('init', '--no-encryption', '--capacity', '4096', '--group', `disk=${join(directory, 'disk')}`);
  await expectSuccess('group', 'add', 'cloud', cloud, '--weight', String(weight));
  const summaryOf = async (...args: string[]): Promise<Record<string, unknown>> =>
    JSON.parse((await expectSuccess(...args, '--json', '--no-progress')).trimEnd().split('\n').at(-1)!) as Record<
      string,
      unknown
    >;
  return { ...scenario, cloud, run, expectSuccess, summaryOf };
}

/** Adds a file of random bytes. A pack has one MiB of them. */
function fillSource({ source }: Scenario, megabytes: number, seed = 1): Buffer {
  const bytes = Buffer.from(createPrng(seed).bytes(megabytes * 1_000_000));
  writeFileSync(join(source, 'large'), bytes);
  return bytes;
}

interface ListedGroup {
  readonly name: string;
  readonly group_id: string;
  readonly weight: number;
  readonly packs?: number;
}

async function listGroups({ run }: Scenario): Promise<ListedGroup[]> {
  const { stdout } = await run(['group', 'list', '--json']);
  const lines = stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)) as Partial<ListedGroup>);
  return lines.filter((line): line is ListedGroup => line.group_id !== undefined);
}

/** How many packs are in a group. Undefined if it is offline. */
async function packsIn(stage: Scenario, name: string): Promise<number | undefined> {
  return (await listGroups(stage)).find((group) => group.name === name)?.packs;
}

/** The ids of the packs in the bucket. */
async function packsInCloud({ cloud }: Stage): Promise<string[]> {
  const observer = s3Client(server().endpoint);
  try {
    const query = { 'list-type': '2', prefix: `${cloud.split(`/${BUCKET}/`)[1]!}/packs/` };
    const { body } = await observer.send({ method: 'GET', query });
    return [
      ...Buffer.from(body)
        .toString()
        .matchAll(/([0-9a-f]{64})<\/Key>/g),
    ].map(([, id]) => id!);
  } finally {
    observer.close();
  }
}

/** How many packs have a group as their first one: none of a few packs may have, as their ids are random. */
async function countPreferring(stage: Stage, name: string): Promise<number> {
  const groups = await listGroups(stage);
  const files = readdirSync(join(stage.directory, 'disk/packs'), { recursive: true, encoding: 'utf8' });
  const local = files.map((file) => file.slice(file.lastIndexOf('/') + 1)).filter((id) => /^[0-9a-f]{64}$/.test(id));
  const ids = [...local, ...(await packsInCloud(stage))];
  expect(ids.length).toBeGreaterThan(4);
  const firstOf = (id: string): string =>
    rankGroups(id, groups, ({ group_id: groupId, weight }) => ({ id: groupId, weight }))[0]!.name;
  return ids.filter((id) => firstOf(id) === name).length;
}

describe('groups of which one is in a bucket', () => {
  test('are used by every command', async () => {
    const stage = await makeStage();
    const { directory, cloud, expectSuccess, summaryOf, run } = stage;
    const bytes = fillSource(stage, inSoak(12, 6));
    const backup = await summaryOf('backup', 'source');
    const cloudPacks = (await packsIn(stage, 'cloud'))!;
    // Each pack is one request, and its group is verified twice.
    expect(backup['requests']).toBeGreaterThan(3 * cloudPacks);
    expect(backup['requests']).toBeLessThan(3 * cloudPacks + 30);
    await expectSuccess('check', '--read-data');
    await expectSuccess('group', 'add', 'second', `${cloud}-second`, '--weight', '2');
    const preferring = await countPreferring(stage, 'second');
    await expectSuccess('group', 'rebalance');
    expect(await packsIn(stage, 'second')).toBe(preferring);
    await expectSuccess('group', 'drain', 'cloud');
    expect(await packsIn(stage, 'cloud')).toBe(0);
    await expectSuccess('group', 'remove', 'cloud');
    await expectSuccess('group', 'read-only', 'disk');
    await expectSuccess('group', 'drain', 'disk');
    const { bytes_downloaded: downloaded } = await summaryOf('restore', 'latest', '-t', 'out');
    expect(downloaded).toBeGreaterThan(bytes.length);
    expect(readFileSync(join(directory, 'out/source/large')).equals(bytes)).toBe(true);
    await expectSuccess('check', '--read-data');
    await expectSuccess('delete', 'latest');
    expect(await packsIn(stage, 'second')).toBe(0);
    // The place of a group that was removed is free again.
    await expectSuccess('group', 'add', 'cloud', cloud);
    expect(await run(['group', 'add', 'again', cloud])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it is a group of this repository already'),
    });
    expect(await run(['group', 'add', 'nowhere', `s3:${server().endpoint}/absent-bucket/x`])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/NoSuchBucket[^]*Create the bucket first/),
    });
  });

  test.each([
    [{ AWS_SECRET_ACCESS_KEY: 'wrong' }, /group cloud .* is offline: .*SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/],
    [{ AWS_ACCESS_KEY_ID: '', HOME: '/nonexistent' }, /group cloud .* is offline: there are no keys for S3/],
  ])('go on without it if its keys are wrong: %o', async (env, message) => {
    const stage = await makeStage();
    const { directory, expectSuccess, run } = stage;
    mkdirSync(join(directory, 'more'));
    writeFileSync(join(directory, 'more', 'file'), 'content');
    const { code, stderr } = await run(['backup', 'more'], { env });
    expect([code, stderr]).toEqual([0, expect.stringMatching(message)]);
    expect(stderr).not.toContain('ldmsecret');
    const added = await run(['group', 'add', 'x', `${stage.cloud}-x`], { env });
    expect([added.code, added.stderr]).toEqual([expect.any(Number), expect.stringMatching(/ldm: .*AWS_|no keys/)]);
    expect(added.code).not.toBe(0);
    await expectSuccess('check', '--read-data');
  });

  // In the suite a repository in a bucket outlives that, and the groups of the model are buckets in memory.
  test.each(inSoak(['killed'], []))('lose nothing if its gateway is %s during a backup, which goes on', async () => {
    let revival: Promise<void> | undefined;
    const { endpoint } = await startFaultProxy(server().endpoint, ({ method, url }) => {
      if (method === 'PUT' && url!.includes('/packs/'))
        revival ??= server()
          .kill()
          .then(async () => server().restart());
      return undefined;
    });
    const stage = await makeStage(endpoint, MOST);
    const { directory, run, expectSuccess } = stage;
    const bytes = fillSource(stage, 12);
    expect(await run(['backup', 'source'])).toMatchObject({ code: 0, stderr: '' });
    await revival!;
    await expectSuccess('check', '--read-data');
    await expectSuccess('restore', 'latest', '-t', 'out');
    expect(readFileSync(join(directory, 'out/source/large')).equals(bytes)).toBe(true);
  });

  test('lose nothing if it goes away for good during a backup', async () => {
    let isAway = false;
    let puts = 0;
    const { endpoint } = await startFaultProxy(server().endpoint, ({ method, url }) => {
      if (method === 'PUT' && url!.includes('/packs/') && (puts += 1) === 2) isAway = true;
      return isAway ? 'lost request' : undefined;
    });
    const stage = await makeStage(endpoint, MOST);
    const { directory, run, expectSuccess } = stage;
    fillSource(stage, inSoak(12, 9));
    const failed = await run(['backup', 'source', '--retry-for', '1s']);
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(/is offline before what was written to it was durable/),
    ]);
    expect(await packsIn(stage, 'cloud')).toBeUndefined();
    const without = await run(['backup', 'source', '--retry-for', '1s']);
    expect([without.code, without.stderr]).toEqual([0, expect.stringContaining('the group cloud')]);
    isAway = false;
    await expectSuccess('check', '--read-data');
    await expectSuccess('restore', 'latest', '-t', 'out');
    const restored = readFileSync(join(directory, 'out/source/large'));
    expect(restored.equals(readFileSync(join(directory, 'source/large')))).toBe(true);
  });

  // Few commands in the suite, where the same model runs on buckets in memory too.
  test.each(seedsOf(1, 20))(
    'lose nothing in any order of commands, requests that fail, and deaths (seed %i)',
    async (seed) => {
      let isAway = false;
      const { endpoint } = await startFaultProxy(server().endpoint, () => (isAway ? 'lost request' : undefined));
      const prefix = `model-${(count += 1)}`;
      const place = `s3:${endpoint}/${BUCKET}/${prefix}`;
      const bucket: Bucket = {
        place,
        open: () => new ObjectBackend(place, new S3Store(s3Client(endpoint), prefix), { retryForMs: 0 }),
        setAway: (given) => {
          isAway = given;
        },
      };
      const repository = await makeGrouped(MODEL_NAMES, { buckets: { c: bucket } });
      await runGroupModel(repository, seed, inSoak(20, 3));
    },
  );
});

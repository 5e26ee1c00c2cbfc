import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import { testBackendOperations } from '../../contracts/backend-operations.ts';
import { BUCKET, CEPH_KEYS, s3Client } from '../../support/ceph-server.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import type { Fault } from '../../support/fault-proxy.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { server } from './server.ts';

/** With a small filter, which is read and written again and again. */
const PLAIN = ['--no-encryption', '--capacity', '4096'];
let count = 0;

testBackendOperations('S3 on Ceph', () => s3Backend());

function s3Backend(prefix = `unit-${(count += 1)}`): ObjectBackend {
  const store = new S3Store(s3Client(server().endpoint), prefix);
  const backend = new ObjectBackend('s3:test', store, { retryForMs: 30_000, firstWaitMs: 10 });
  onTestFinished(async () => backend.close());
  return backend;
}

/** A scenario whose repository is in the bucket. */
async function makeRemote(): Promise<Scenario & { readonly place: string }> {
  const scenario = await makeScenario();
  const place = `s3:${server().endpoint}/${BUCKET}/r${(count += 1)}`;
  const env = { ...CEPH_KEYS, LDM_REPOSITORY: place, LDM_RETRY_FOR: '60s' };
  const inBucket =
    (run: Scenario['run']): Scenario['run'] =>
    async (args, options = {}) =>
      run(args, { ...options, env: { ...env, ...options.env } });
  return { ...scenario, place, run: inBucket(scenario.run), runBuilt: inBucket(scenario.runBuilt) };
}

describe('a repository in a bucket', () => {
  test('is used by every command like a directory', async () => {
    const { directory, place, run } = await makeRemote();
    const expectSuccess = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(args);
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      return stdout;
    };
    expect(await expectSuccess('init', ...PLAIN)).toContain(` at ${place}, `);
    await expectSuccess('backup', 'source');
    await expectSuccess('tag', 'latest', '--add', 'kept');
    expect(await expectSuccess('snapshots')).toContain('kept');
    await expectSuccess('check', '--read-data');
    await expectSuccess('restore', 'latest', '-t', 'out');
    expect(readFileSync(join(directory, 'out/source/sub/b.txt'), 'utf8')).toBe('beta');
    expect(await expectSuccess('cat', 'latest:source/a.txt')).toBe('alpha');
    await expectSuccess('copy', '--to', 'repository');
    await expectSuccess('delete', 'latest');
    expect(await expectSuccess('compact')).toContain('packs       0 before');
    await expectSuccess('check');
    expect(await run(['init', '--no-encryption'])).toMatchObject({ code: 1 });
  });

  test('takes the backups of two clients at once', async () => {
    const { directory, run, runBuilt } = await makeRemote();
    await run(['init', ...PLAIN]);
    for (const name of ['one', 'two']) writeFileSync(join(directory, name), createPrng(name.length).bytes(3_000_000));
    // One of them is this process.
    const results = await Promise.all([runBuilt(['backup', 'one']), run(['backup', 'two'])]);
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect((await run(['snapshots', '--json'])).stdout).toMatch(/one[^]*two|two[^]*one/);
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0 });
  });

  test('outlives a gateway that is killed and started again during a backup', async () => {
    let revival: Promise<void> | undefined;
    const { endpoint } = await startFaultProxy(server().endpoint, ({ method, url }) => {
      if (method === 'PUT' && url!.includes('/packs/'))
        revival ??= server()
          .kill()
          .then(async () => server().restart());
      return undefined;
    });
    const { directory, source, run: runHere, runBuilt } = await makeRemote();
    const run = inSoak(runBuilt, runHere);
    await run(['init', ...PLAIN]);
    // Two packs of the built program, and six of this process.
    const bytes = createPrng(7).bytes(inSoak(40_000_000, 6_000_000));
    writeFileSync(join(source, 'large'), bytes);
    const env = { LDM_REPOSITORY: `s3:${endpoint}/${BUCKET}/r${count}` };
    expect(await run(['backup', 'source'], { env })).toMatchObject({ code: 0, stderr: '' });
    await revival!;
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0 });
    expect(await run(['restore', 'latest', '-t', 'out'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(directory, 'out/source/large')).equals(bytes)).toBe(true);
  });

  test.each([
    [{ AWS_SECRET_ACCESS_KEY: 'wrong' }, /SignatureDoesNotMatch/, /Check AWS_ACCESS_KEY_ID/],
    [{ AWS_ACCESS_KEY_ID: 'nobody' }, /InvalidAccessKeyId/, /Check AWS_ACCESS_KEY_ID/],
    [{ AWS_ACCESS_KEY_ID: '', HOME: '/nonexistent' }, /there are no keys for S3/, /Set AWS_ACCESS_KEY_ID/],
  ])('with wrong keys is an error that says what to do: %o', async (env, message, hint) => {
    const { run } = await makeRemote();
    const { code, stderr } = await run(['snapshots'], { env });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(hint);
    expect(stderr).not.toContain('ldmsecret');
  });

  test('that is not there, or whose bucket is not there, is an error', async () => {
    const { run } = await makeRemote();
    expect(await run(['snapshots'])).toMatchObject({ code: 10 });
    const place = `s3:${server().endpoint}/absent-bucket/x`;
    for (const args of [['snapshots'], ['init', '--no-encryption']]) {
      const { code, stderr } = await run([...args, '-r', place]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/NoSuchBucket[^]*Create the bucket first/)]);
    }
  });

  test('has keys with any characters', async () => {
    const prefix = "a b+c~ü(1)*!'&<x>/%41";
    const backend = s3Backend(prefix);
    await backend.publish('index/a', Buffer.from('x'));
    expect(await backend.list('index')).toMatchObject([{ name: 'index/a', sizeBytes: 1 }]);
    expect(await s3Backend(prefix).sizeOf('index/a')).toBe(1);
    expect((await backend.examine()).names).toEqual(['index']);
  });

  // A page of Ceph has 1000 names.
  test.each(inSoak([1100], []))('is listed in pages: %i names', async (nameCount) => {
    const backend = s3Backend();
    await backend.prepare();
    const names = Array.from({ length: nameCount }, (_, index) => `packs/${String(index).padStart(4, '0')}`);
    for (const name of names) await backend.publish(name, Buffer.from('x'));
    await backend.barrier();
    expect((await backend.list('packs')).map(({ name }) => name)).toEqual(names);
  });
});

describe('a server that fails', () => {
  test.each(seedsOf(1, 20))('at any request loses nothing and repeats nothing wrongly (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const kinds: readonly Fault[] = ['lost request', 'lost answer', 'half answer', 'busy'];
    const { endpoint, counts } = await startFaultProxy(server().endpoint, () =>
      prng.int(4) === 0 ? kinds[prng.int(kinds.length)] : undefined,
    );
    const prefix = `faults-${(count += 1)}`;
    const backend = new ObjectBackend('s3:test', new S3Store(s3Client(endpoint), prefix), {
      retryForMs: 60_000,
      firstWaitMs: 4,
    });
    onTestFinished(async () => backend.close());
    while ((await backend.sizeOf('config').catch(() => 'failed')) === 'failed');
    await backend.prepare();
    const kept = new Map<string, Buffer>();
    for (let round = 0; round < inSoak(30, 15); round += 1) {
      const bytes = Buffer.from(prng.bytes(4000 + prng.int(4000)));
      const file = await backend.stage();
      await file.append(bytes);
      await file.publish(`packs/${round}`, undefined, round % 3 === 0);
      await backend.claim(`locks/${round}`);
      expect(await backend.refresh(`locks/${round}`)).toBe(true);
      expect(await backend.release(`locks/${round}`)).toBe(true);
      kept.set(`packs/${round}`, bytes);
      if (round % 4 === 1) {
        await backend.move(`packs/${round}`, `deleted/${round}`);
        kept.delete(`packs/${round}`);
        kept.set(`deleted/${round}`, bytes);
      } else if (round % 5 === 2) {
        expect(await backend.remove(`packs/${round}`)).toBe(true);
        kept.delete(`packs/${round}`);
      }
      const target = Buffer.alloc(1000);
      const [name, whole] = [...kept][prng.int(kept.size)]!;
      await backend.readRange(name, 500, target);
      expect(target.equals(whole.subarray(500, 1500))).toBe(true);
    }
    await backend.barrier();
    for (const kind of kinds) expect(counts.get(kind), kind).toBeGreaterThan(inSoak(5, 2));
    const direct = s3Backend(prefix);
    expect((await direct.list('')).map(({ name }) => name)).toEqual([...kept.keys()].toSorted());
    for (const [name, bytes] of kept) expect(Buffer.compare(await direct.read(name), bytes), name).toBe(0);
  });

  test('is used by the program until it is done', async () => {
    const prng = createPrng(5);
    let isFaulty = false;
    const { endpoint, counts } = await startFaultProxy(server().endpoint, () => {
      if (!isFaulty || prng.int(12) !== 0) return undefined;
      return prng.int(2) === 0 ? 'lost answer' : 'busy';
    });
    const { directory, source, run: runHere } = await makeRemote();
    const env = { LDM_REPOSITORY: `s3:${endpoint}/${BUCKET}/r${count}` };
    const run = async (...args: string[]): Promise<unknown> => runHere(args, { env });
    expect(await run('init', ...PLAIN)).toMatchObject({ code: 0 });
    isFaulty = true;
    const bytes = createPrng(8).bytes(inSoak(20_000_000, 5_000_000));
    writeFileSync(join(source, 'large'), bytes);
    // The first request is not repeated if it gets no answer: its address may be wrong.
    for (const args of [
      ['backup', 'source'],
      ['restore', 'latest', '-t', 'out'],
    ]) {
      let result = await run(...args);
      while ((result as { stderr: string }).stderr.includes('cannot connect')) result = await run(...args);
      expect(result, args[0]).toMatchObject({ code: 0 });
    }
    expect(readFileSync(join(directory, 'out/source/large')).equals(bytes)).toBe(true);
    expect(Math.min(counts.get('lost answer') ?? 0, counts.get('busy') ?? 0)).toBeGreaterThan(0);
  });

  test('that knows no conditions is used by a single writer only', async () => {
    const { endpoint, counts } = await startFaultProxy(server().endpoint, ({ headers }) =>
      headers['if-match'] !== undefined || headers['if-none-match'] !== undefined ? 'no conditions' : undefined,
    );
    const { run } = await makeRemote();
    const env = { LDM_REPOSITORY: `s3:${endpoint}/${BUCKET}/r${count}` };
    expect(await run(['init', '--no-encryption'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot be used by several clients[^]*add --single-writer/),
    });
    for (const args of [
      ['init', '--no-encryption', '--single-writer'],
      ['backup', 'source'],
      ['delete', 'latest'],
      ['check'],
    ]) {
      expect(await run(args, { env }), args[0]).toMatchObject({ code: 0 });
    }
    expect(counts.get('no conditions')).toBeGreaterThan(3);
  });
});

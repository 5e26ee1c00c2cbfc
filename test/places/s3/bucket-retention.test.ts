import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { PLAIN, change, makeVersionedStage } from './versioned-stage.ts';
import type { VersionedStage } from './versioned-stage.ts';

const DAY_MS = 24 * 3_600_000;
/** Everything that a restore needs, and nothing that changes all the time. */
const NEEDED = /^(packs|index|snapshots|manifests\.bak|keys)\/|^config(\.bak)?$/;

/** Lets time pass, for the bucket and for what this machine remembers of it. */
function age(stage: VersionedStage, ms: number): void {
  stage.bucket.age(ms);
  const directory = join(stage.directory, 'state/ldm/retention');
  const names = readdirSync(directory);
  expect(names).toHaveLength(1);
  const path = join(directory, names[0]!);
  const memory = JSON.parse(readFileSync(path, 'utf8')) as { extendedMs: number };
  writeFileSync(path, JSON.stringify({ ...memory, extendedMs: memory.extendedMs - ms }));
}

describe('--s3-retention', () => {
  test('keeps what a restore needs, and nothing else, for at least the days', async () => {
    const stage = await makeVersionedStage({ hasObjectLock: true }, { LDM_S3_RETENTION: 'governance:3' });
    const { bucket, succeed } = stage;
    await succeed('init', '--capacity', '4096', '--password-file', passwordFile(stage));
    change(stage, 1);
    await succeed('backup', 'source', '--password-file', passwordFile(stage));
    for (const [key, versions] of bucket.objects) {
      const isNeeded = NEEDED.test(key.slice('r/'.length));
      for (const { isMarker, untilMs, headers } of versions.filter((version) => !version.isMarker)) {
        expect([key, isMarker, untilMs !== undefined]).toEqual([key, false, isNeeded]);
        if (!isNeeded) continue;
        expect(untilMs! - bucket.nowMs).toBeGreaterThan(3 * DAY_MS);
        expect(untilMs! - bucket.nowMs).toBeLessThan(6.1 * DAY_MS);
        expect(headers['x-amz-object-lock-mode']).toBe('GOVERNANCE');
      }
    }
    // No request was refused and repeated.
    for (const [key, versions] of bucket.objects) {
      if (!NEEDED.test(key.slice('r/'.length))) continue;
      const puts = bucket.requests.filter((request) => request === `PUT ${key}`).length;
      expect([key, puts]).toEqual([key, versions.filter(({ isMarker }) => !isMarker).length]);
    }
    expect([...bucket.current.keys()].map((name) => name.split('/', 1)[0])).toEqual(
      expect.arrayContaining(['config', 'config.bak', 'keys', 'packs', 'index', 'snapshots', 'manifests.bak']),
    );
  });

  test('is extended, for what is still stored, before it would be less than the days', async () => {
    const stage = await makeVersionedStage({ hasObjectLock: true }, { LDM_S3_RETENTION: '2' });
    const { bucket, succeed } = stage;
    await succeed('init', ...PLAIN);
    change(stage, 2);
    await succeed('backup', 'source');
    const first = new Map(bucket.current);
    const asked = (): string[] => bucket.requests.filter((request) => request.endsWith('?retention='));
    expect(asked()).toEqual([]);

    // Less than half of the days later, everything is still retained for longer than the days.
    age(stage, 0.9 * DAY_MS);
    const before = bucket.requests.length;
    expect(await succeed('backup', 'source', '-v')).not.toContain('extended');
    expect(asked()).toEqual([]);
    expect(bucket.requests.slice(before).filter((request) => request.startsWith('HEAD r/packs/')).length).toBeLessThan(
      9,
    );

    age(stage, 0.6 * DAY_MS);
    const stdout = await succeed('backup', 'source', '-v', '--skip-if-unchanged');
    expect(stdout).toMatch(/extended the retention of [1-9]\d* of \d+ objects/);
    for (const [name, { untilMs }] of bucket.current)
      if (NEEDED.test(name)) expect([name, untilMs! - bucket.nowMs >= 2 * DAY_MS]).toEqual([name, true]);
    // Old versions of what was replaced are not extended.
    expect(new Set(asked()).size).toBe(asked().length);
    expect([...first.keys()].filter((name) => NEEDED.test(name)).every((name) => bucket.current.has(name))).toBe(true);
    expect(await succeed('backup', 'source', '-v')).not.toContain('extended');
    expect(await succeed('backup', 'source', '-v', '--s3-retention', '4')).toContain('extended');
  });

  test('is at least the days after each backup, also for what was written between two extensions', async () => {
    const stage = await makeVersionedStage({ hasObjectLock: true }, { LDM_S3_RETENTION: '2' });
    const { bucket, succeed } = stage;
    await succeed('init', ...PLAIN);
    for (let round = 0; round < 14; round += 1) {
      change(stage, 2);
      await succeed('backup', 'source');
      for (const [name, { untilMs }] of bucket.current)
        if (NEEDED.test(name))
          expect([round, name, untilMs! - bucket.nowMs >= 2 * DAY_MS]).toEqual([round, name, true]);
      age(stage, 0.3 * DAY_MS);
    }
  });

  test('is refused by a bucket without object lock, which then is as it was', async () => {
    const { bucket, run } = await makeVersionedStage({});
    const { code, stderr } = await run(['init', ...PLAIN, '--s3-retention', '30']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/ObjectLockConfigurationNotFoundError[^]*A retention needs a bucket with object lock/),
    ]);
    expect([...bucket.current.keys()]).toEqual([]);
  });

  test.each(['0', '-1', '1.5', '4000', 'legal:3', '30d', ''])('is not %o', async (days) => {
    const { bucket, run } = await makeVersionedStage({ hasObjectLock: true });
    expect(await run(['init', ...PLAIN, `--s3-retention=${days}`])).toMatchObject({ code: 2 });
    expect(await run(['init', ...PLAIN], { env: { LDM_S3_RETENTION: days } })).toMatchObject({ code: 2 });
    expect(bucket.requests).toEqual([]);
  });
});

test('stats says so if the keys may not list old versions', async () => {
  const { succeed, summaryOf } = await makeVersionedStage({ mayListVersions: false });
  await succeed('init', ...PLAIN);
  expect(await succeed('stats')).toMatch(/old versions +unknown: these keys are not allowed to list them/);
  expect(await summaryOf('stats')).toMatchObject({ old_versions: null });
});

function passwordFile({ directory }: VersionedStage): string {
  const path = join(directory, 'password');
  writeFileSync(path, 'a password\n', { mode: 0o600 });
  return path;
}

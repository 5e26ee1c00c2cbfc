import { expect, test } from 'vitest';

import { PLAIN, change, makeVersionedStage } from './versioned-stage.ts';
import type { VersionedStage } from './versioned-stage.ts';

/** A bucket that has lost all packs of a snapshot of the source but those of trees, which another repository has too. */
async function makeLossyStage(): Promise<VersionedStage> {
  const stage = await makeVersionedStage({});
  change(stage, 1);
  await stage.succeed('init', ...PLAIN);
  await stage.succeed('init', '-r', 'other', ...PLAIN);
  await stage.succeed('backup', '-r', 'other', 'source');
  await stage.succeed('dump', '-r', 'other', 'latest', '-o', 'archive.tar');
  const { bucket } = stage;
  const packs = (): string[] => [...bucket.objects.keys()].filter((key) => key.startsWith('r/packs/'));
  await stage.succeed('backup', 'source');
  for (const key of packs()) if ((bucket.objects.get(key)?.at(-1)?.bytes.length ?? 0) > 100_000) bucket.remove(key);
  return stage;
}

test('a copy finds out that a pack of its destination is gone, and stores what was in it', async () => {
  const { bucket, succeed } = await makeLossyStage();
  expect(await succeed('copy', '-r', 'other', '--to', bucket.place)).toMatch(/1 snapshot/);
  await succeed('check', '--read-data');
});

test('an archive cannot be read again, so each pack is looked for before its import relies on it', async () => {
  const { bucket, succeed } = await makeLossyStage();
  const before = bucket.requests.length;
  const known = new Set([...bucket.objects.keys()].map((key) => `HEAD ${key}`));
  await succeed('import-tar', 'archive.tar');
  const asked = bucket.requests.slice(before).filter((request) => known.has(request) && request.includes('/packs/'));
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.length).toBe(new Set(asked).size);
  await succeed('check', '--read-data');
});

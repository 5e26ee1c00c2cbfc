import { appendFileSync, chmodSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CancelledError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { createPrng } from '../../support/prng.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import { shownNotice } from '../../support/shown-notice.ts';

test('a pack that was cut off does not count as stored: the next backup stores its chunks again', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'photo'), createPrng(1).bytes(300_000));
  await repository.backup();
  const packs = join(repository.directory, 'repository', 'packs');
  for (const name of readdirSync(packs, { recursive: true, encoding: 'utf8' })) {
    const path = join(packs, name);
    if (statSync(path).isFile()) truncateSync(path, 100);
  }
  const { summary } = await repository.backup();
  expect(summary.dataBlobs).toBe(1);
  await repository.expectRestored();
});

test('a pack with bytes behind its end still gives what is in it', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'photo'), createPrng(1).bytes(300_000));
  await repository.backup();
  const packs = join(repository.directory, 'repository', 'packs');
  for (const name of readdirSync(packs, { recursive: true, encoding: 'utf8' })) {
    const path = join(packs, name);
    if (!statSync(path).isFile()) continue;
    chmodSync(path, 0o600);
    appendFileSync(path, 'garbage');
  }
  await repository.expectRestored();
});

test('a backup beside damage that it knows of says so', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'photo'), 'photo');
  await repository.backup();
  await repository.backup();
  expect(repository.notices).toEqual([]);
  for (const name of filesOf(repository, 'filter')) rmSync(join(repository.directory, 'repository', 'filter', name));
  for (const name of filesOf(repository, 'index')) {
    const path = join(repository.directory, 'repository', 'index', name);
    chmodSync(path, 0o600);
    appendFileSync(path, 'garbage');
  }
  await repository.backup();
  expect(repository.notices.map(shownNotice)).toMatchObject([
    { kind: 'warning', message: expect.stringContaining('the repository is damaged: 2 ') as string },
  ]);
});

test.each([compact, repair, collectStats])('an interruption ends every operation: %o', async (operation) => {
  const { context, backup, expectClean } = await makeTestRepository();
  await backup();
  const interruption = new AbortController();
  interruption.abort(new CancelledError('SIGINT'));
  await expect(operation({ ...context, signal: interruption.signal })).rejects.toThrow('interrupted by SIGINT');
  for (const reason of [undefined, new Error('of the caller')]) {
    const { rejects } = expect(operation({ ...context, signal: AbortSignal.abort(reason) }));
    await rejects.toMatchObject({ name: 'CancelledError', code: 'CANCELLED', message: 'cancelled', signal: undefined });
  }
  await expectClean();
});

test('chunks of the largest size that init takes can be saved', async () => {
  const repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes: 2 ** 30 } });
  writeFileSync(join(repository.source, 'file'), 'content');
  expect((await repository.backup()).problems).toEqual([]);
  await repository.expectRestored();
});

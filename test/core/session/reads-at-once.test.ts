import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { check } from '../../../src/verbs/check/check.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { SlowBackend } from '../../support/slow-backend.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const SNAPSHOTS = 12;

async function makeRepository(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  for (let count = 0; count < SNAPSHOTS; count += 1) {
    writeFileSync(join(repository.source, `file-${count}`), `${count}`);
    await repository.backup();
  }
  return repository;
}

function slow({ context }: TestRepository): TestRepository['context'] & { readonly backend: SlowBackend } {
  return { ...context, backend: new SlowBackend(context.backend) } as never;
}

test.each([
  ['snapshots', listSnapshots, ['snapshots']],
  ['stats with a checkpoint', collectStats, ['index']],
  ['check', check, ['snapshots', 'manifests.bak', 'index']],
] as const)('manifests and segments are read a few at a time, with the same result: %s', async (...given) => {
  const [, operation, directories] = given;
  const repository = await makeRepository();
  const context = slow(repository);
  expect(await operation(context)).toEqual(await operation(repository.context));
  // In `index/`, a check reads two kinds of files beside each other.
  const most = (directory: string): number => (operation === check && directory === 'index' ? 8 : 4);
  for (const directory of directories) expect(context.backend.most(directory), directory).toBe(most(directory));
});

test('without a checkpoint too', async () => {
  const repository = await makeRepository();
  const checkpoints = join(repository.directory, 'repository', 'filter');
  for (const name of readdirSync(checkpoints)) rmSync(join(checkpoints, name));
  const context = slow(repository);
  expect(await collectStats(context)).toEqual(await collectStats(repository.context));
  for (const directory of ['snapshots', 'index']) expect(context.backend.most(directory), directory).toBe(4);
});

test('damage is reported in the order of the files', async () => {
  const repository = await makeRepository();
  const directory = join(repository.directory, 'repository', 'snapshots');
  const ids = readdirSync(directory).sort();
  for (const id of [ids[1]!, ids[2]!, ids[9]!]) writeFileSync(join(directory, id), 'damaged');
  const context = slow(repository);
  const { findings } = await check(context);
  expect(findings.map((finding) => 'snapshotId' in finding && finding.snapshotId)).toEqual([ids[1], ids[2], ids[9]]);
});

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { check } from '../../src/operations/check.ts';
import { listSnapshots } from '../../src/operations/snapshots.ts';
import { collectStats } from '../../src/operations/stats.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const SNAPSHOTS = 12;

/** A place whose reads take a while, the earlier ones longer. */
class SlowBackend extends FaultyBackend {
  override readonly readsAtOnce = 4;
  running = 0;
  runningMax = 0;

  override async read(name: string): Promise<Buffer> {
    this.running += 1;
    this.runningMax = Math.max(this.runningMax, this.running);
    try {
      for (let turn = this.running; turn < 8; turn += 1) await setImmediate();
      return await super.read(name);
    } finally {
      this.running -= 1;
    }
  }
}

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
  ['snapshots', listSnapshots],
  ['stats with a checkpoint', collectStats],
  ['check', check],
] as const)('manifests and segments are read a few at a time, with the same result: %s', async (_, operation) => {
  const repository = await makeRepository();
  const context = slow(repository);
  expect(await operation(context)).toEqual(await operation(repository.context));
  expect(context.backend.runningMax).toBe(4);
});

test('without a checkpoint too', async () => {
  const repository = await makeRepository();
  const checkpoints = join(repository.directory, 'repository', 'filter');
  for (const name of readdirSync(checkpoints)) rmSync(join(checkpoints, name));
  const context = slow(repository);
  expect(await collectStats(context)).toEqual(await collectStats(repository.context));
  expect(context.backend.runningMax).toBe(4);
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

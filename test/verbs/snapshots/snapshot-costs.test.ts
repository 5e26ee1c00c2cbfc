import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { listSnapshots, showSnapshot } from '../../../src/verbs/snapshots/snapshots.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

it('the cost of a snapshot is what a delete of it frees', async () => {
  const repository = await makeTestRepository();
  const { context, source } = repository;
  const prng = createPrng(7);
  for (let i = 0; i < 5; i += 1) {
    writeFileSync(join(source, `file${i}`), prng.bytes(1000 * (i + 1)));
    if (i > 0) rmSync(join(source, `file${i - 1}`));
    await repository.backup();
  }
  const listed = await listSnapshots(context, { cost: true });
  for (const { id, onlyHere } of listed) {
    const { freed } = await deleteSnapshots(context, { selectors: [id], dryRun: true });
    expect(onlyHere).toEqual(freed);
    expect((await showSnapshot(context, { selector: id })).onlyHere).toEqual(freed);
    expect(onlyHere!.rawBytes).toBeGreaterThan(1000);
  }
  expect((await showSnapshot(context, { selector: 'latest' })).isParentPresent).toBe(true);
  await deleteSnapshots(context, { selectors: ['latest~1'] });
  expect((await showSnapshot(context, { selector: 'latest' })).isParentPresent).toBe(false);
  expect((await listSnapshots(context))[0]!.onlyHere).toBeUndefined();
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';

import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

test('a backup looks at no manifest of an earlier snapshot, and decodes each twice at most', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), 'content');
  for (let made = 0; made < 12; made += 1) await repository.backup();
  // Each decoding verifies the times in a manifest.
  const listings = await listSnapshots(repository.context);
  const decoded = new Map(listings.map(({ snapshot }) => [snapshot.summary.backupEnd, 0]));
  const { parse } = Date;
  const spy = vi.spyOn(Date, 'parse').mockImplementation((text) => {
    const count = decoded.get(text);
    if (count !== undefined) decoded.set(text, count + 1);
    return parse(text);
  });
  onTestFinished(() => spy.mockRestore());
  const looked: string[] = [];
  replaceCall('lstatSync', (lstatSync) => {
    const noting = (...given: Parameters<typeof lstatSync>): unknown => {
      if (/\/(?:snapshots|manifests\.bak)\//.test(String(given[0]))) looked.push(String(given[0]));
      return lstatSync(...given);
    };
    return noting as typeof lstatSync;
  });
  await repository.backup();
  expect(looked.length).toBeLessThan(4);
  expect([...decoded.values()]).toEqual(Array.from({ length: 12 }, () => 2));
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { Backend, BackendFile } from '../../../src/core/backend/backend.ts';
import { MeteredBackend } from '../../../src/places/remote/metered-backend.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

/** Lists `snapshots` in two requests, as a store of objects does: `between` runs once between them. */
function paged(inner: Backend, between: () => Promise<unknown>): { backend: Backend; hasFired: () => boolean } {
  const metered = new MeteredBackend(inner);
  let hasFired = false;
  const list = async (directory: string): Promise<BackendFile[]> => {
    if (directory !== 'snapshots' || hasFired) return metered.list(directory);
    hasFired = true;
    const isFirst = ({ name }: BackendFile): boolean => name < 'snapshots/8';
    const first = (await metered.list(directory)).filter(isFirst);
    await between();
    return [...first, ...(await metered.list(directory)).filter((file) => !isFirst(file))];
  };
  const backend = new Proxy<Backend>(metered, {
    get: (target, key) => {
      if (key === 'list') return list;
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return { backend, hasFired: () => hasFired };
}

it('snapshots lists a snapshot that gets a tag meanwhile, also without a lock', async () => {
  const repository = await makeTestRepository();
  const { context, source } = repository;
  for (const day of [1, 2, 3]) {
    writeFileSync(join(source, 'file'), String(day));
    await repository.backup({ time: `2026-01-0${day}T10:00:00Z` });
  }
  // Ids are random: in one round of four, the new one is on the first page and the old one on the second.
  for (let round = 0; round < 24; round += 1) {
    const tag = async (): Promise<unknown> => tagSnapshots(context, { selectors: ['latest'], add: [`tag-${round}`] });
    const { backend, hasFired } = paged(context.backend, tag);
    const listed = await listSnapshots({ ...context, backend });
    expect(hasFired()).toBe(true);
    expect(listed.map(({ snapshot }) => snapshot.time.slice(0, 10))).toEqual([
      '2026-01-01',
      '2026-01-02',
      '2026-01-03',
    ]);
  }
});

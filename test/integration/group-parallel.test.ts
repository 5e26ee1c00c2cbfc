import { expect, it } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { fill, makeGrouped } from '../support/grouped-repository.ts';

it('a backup writes packs to both groups at the same time', async () => {
  const repository = await makeGrouped();
  fill(repository, 'one', 1, 600_000);
  // Four packs at a time wait for each other. One after the other, the first would wait for ever.
  let batch = makeBatch();
  const groupCounts: number[] = [];
  const openPlace = async (place: string): Promise<Backend> =>
    new Proxy<Backend>(new LocalBackend(place), {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          if (property === 'stage') {
            const own = batch;
            own.places.push(place);
            if (own.places.length === 4) {
              groupCounts.push(new Set(own.places).size);
              batch = makeBatch();
              own.release();
            }
            // The last batch is smaller.
            if (groupCounts.length < 5) await own.released;
          }
          return (await Reflect.apply(value, target, given)) as unknown;
        };
      },
    });
  const { context, source, directory } = repository;
  await backup({ ...context, openPlace }, { sources: [source], cwd: directory });
  // Which group gets a pack is random.
  expect(groupCounts).toContain(2);
  await repository.expectClean();
  await repository.expectRestored();
});

/** Packs that wait for each other. */
function makeBatch(): { readonly places: string[]; readonly released: Promise<void>; readonly release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { places: [], released, release };
}

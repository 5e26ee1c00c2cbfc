import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type { Backend } from '../../src/core/backend/backend.ts';
import { RefusedError } from '../../src/core/errors.ts';
import { drainGroup } from '../../src/core/copies/group-moves.ts';
import { backupInto, makeGrouped, packsAt } from '../support/grouped-repository.ts';
import type { GroupedRepository } from '../support/grouped-repository.ts';

/** Drains the group `a`, and calls `onStep` before each operation on a group: its name, the operation, and the file. */
async function drain(
  repository: GroupedRepository,
  onStep: (group: string, operation: string, name: string) => void,
): Promise<void> {
  const openPlace = async (place: string): Promise<Backend> =>
    new Proxy<Backend>(new LocalBackend(place), {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          onStep(place.at(-1)!, String(property), String(given[0]));
          return (await Reflect.apply(value, target, given)) as unknown;
        };
      },
    });
  await drainGroup({ ...repository.context, openPlace }, 'a');
}

async function makeFilled(): Promise<GroupedRepository> {
  const repository = await makeGrouped();
  await backupInto(repository, 'a', 60_000);
  return repository;
}

describe('a drain', () => {
  it('makes copies durable, also as other processes have left them, and reads them again before it removes anything', async () => {
    const repository = await makeFilled();
    const steps: string[] = [];
    await drain(repository, (group, operation, name) => steps.push(`${group} ${operation} ${name.split('/')[0]}`));
    const before = steps.slice(0, steps.indexOf('a remove packs'));
    const at = {
      lastWrite: before.lastIndexOf('b stage undefined'),
      barrier: before.indexOf('b barrier undefined'),
      settle: before.findIndex((step) => step.startsWith('b settle packs')),
      lastRead: before.lastIndexOf('b read packs'),
    };
    expect(at.lastWrite).toBeGreaterThan(0);
    expect(Object.values(at)).toEqual(Object.values(at).toSorted((a, b) => a - b));
    // What was reported as removed does not come back.
    expect(steps.slice(steps.lastIndexOf('a remove packs'))).toContain('a barrier undefined');
  });

  it('removes nothing once its lock is gone, which it verifies before each removal', async () => {
    const repository = await makeFilled();
    const count = packsAt(repository.place('a')).length;
    expect(count).toBeGreaterThan(1);
    const locks = join(repository.directory, 'repository', 'locks');
    let removalCount = 0;
    const draining = drain(repository, (group, operation, name) => {
      if (group !== 'a' || operation !== 'remove' || !name.startsWith('packs/')) return;
      removalCount += 1;
      for (const lock of readdirSync(locks)) rmSync(join(locks, lock));
    });
    await expect(draining).rejects.toThrow(RefusedError);
    // The first one had verified the lock before it was gone.
    expect(removalCount).toBe(1);
    expect(packsAt(repository.place('a'))).toHaveLength(count - 1);
    await repository.expectClean();
  });
});

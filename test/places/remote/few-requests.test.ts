import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { CachedBackend } from '../../../src/places/remote/cached-backend.ts';
import { MeteredBackend } from '../../../src/places/remote/metered-backend.ts';
import { RepositoryLockedError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { DEFAULT_STORE_SIZES } from '../../../src/core/store/store-sizes.ts';
import { createPrng } from '../../support/prng.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

let repository: TestRepository;

/** The repository as another command sees it: on another machine, with a cache, and with nothing in memory. */
function open(cache = 'cache'): OperationContext & { readonly backend: Backend } {
  const directory = join(repository.directory, cache);
  const metered = new MeteredBackend(repository.context.backend);
  return { ...repository.context, backend: new CachedBackend(metered, { directory }) };
}

async function backUp(context: OperationContext = open()): Promise<void> {
  const { problems } = await backup(context, { sources: [repository.source], cwd: repository.directory });
  expect(problems).toEqual([]);
}

beforeEach(async () => {
  repository = await makeTestRepository();
  for (let index = 0; index < 40; index += 1) {
    const directory = join(repository.source, `d${index % 8}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${index}`), createPrng(index).bytes(500));
  }
  await letSettle(join(repository.source, 'd7', 'f39'));
});

describe('a repository on another machine', () => {
  it('takes few requests for an unchanged backup, a listing and a restore of one file', async () => {
    // Many packs, of which a backup must know that they are there, and several snapshots.
    const storeSizes = { ...DEFAULT_STORE_SIZES, blockRawBytes: 1000, packBytes: 2000 };
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 80; index += 1) {
        writeFileSync(
          join(repository.source, `d${index % 8}`, `r${round}-${index}`),
          createPrng(1000 * round + index).bytes(3000),
        );
      }
      await letSettle(join(repository.source, 'd7', `r${round}-79`));
      await backUp({ ...open(), storeSizes });
    }
    expect((await repository.context.backend.list('packs')).length).toBeGreaterThan(64);
    const unchanged = open();
    await backUp(unchanged);
    expect(unchanged.backend.traffic!.requests).toBeLessThanOrEqual(26);
    expect(unchanged.backend.traffic!.downloadedBytes).toBeLessThan(5000);
    const listing = open();
    expect(await listSnapshots(listing)).toHaveLength(4);
    expect(listing.backend.traffic!.requests).toBeLessThanOrEqual(5);
    const restored = open();
    const target = join(repository.directory, 'one');
    const { blocksRead } = await restore(restored, { selector: 'latest', target, include: ['source/d1/f1'] });
    expect(restored.backend.traffic!.requests).toBeLessThanOrEqual(blocksRead + 11);
  });

  it('lets snapshots be listed beside a command that holds the lock, and looks again under a lock if in doubt', async () => {
    await backUp();
    await backUp();
    const { backend } = repository.context;
    const [id] = readdirSync(join(backend.location, 'snapshots'));
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    expect(await listSnapshots(open())).toHaveLength(2);
    expect(repository.notices).toEqual([]);
    // Without the copy on this machine, a manifest that is gone is noticed.
    const other = open('other');
    const moving = new Proxy(other.backend, {
      get: (target, key) => {
        if (key === 'traffic') return target.traffic;
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== 'function') return member;
        return async (...given: unknown[]) => {
          if (key === 'read' && given[0] === `snapshots/${id}`) {
            await backend.move(`snapshots/${id}`, `deleted/${id}`).catch(() => undefined);
          }
          return (await Reflect.apply(member, target, given)) as unknown;
        };
      },
    });
    await expect(listSnapshots({ ...other, backend: moving, lockWaitMs: 0 })).rejects.toThrow(RepositoryLockedError);
    await lock.release();
    expect(await listSnapshots({ ...other, backend: moving })).toHaveLength(1);
  });
});

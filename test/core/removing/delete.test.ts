import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, test } from 'vitest';

import type { FileSystemBackend } from '../../../src/core/backend/file-system-backend.ts';
import {
  BackendError,
  CancelledError,
  CorruptDataError,
  RefusedError,
  SnapshotNotFoundError,
} from '../../../src/core/errors.ts';
import { describeFailure } from '../../../src/cli/error-report.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { DeleteResult } from '../../../src/core/removing/delete.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { FaultyBackend, SimulatedCrash } from '../../support/faulty-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function makeThree(): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository();
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    writeFileSync(join(repository.source, name), name);
    ids.push((await repository.backup()).snapshotId!);
  }
  return { repository, ids };
}

describe('a snapshot that another process deletes meanwhile', () => {
  /** Deletes these, while another process, faster, deletes those in `faster`. */
  async function race(
    repository: TestRepository,
    { selectors, faster }: { readonly selectors: readonly string[]; readonly faster: readonly string[] },
  ): Promise<DeleteResult> {
    const backend = new Rival(repository.context.backend, faster);
    return await deleteSnapshots({ ...repository.context, backend }, { selectors, reclaim: false });
  }

  it.each([0, 1])('counts as deleted, and the others are: %d of two', async (index) => {
    const { repository, ids } = await makeThree();
    const selectors = ids.slice(0, 2);
    const result = await race(repository, { selectors, faster: [ids[index]!] });
    expect(result.snapshots.map(({ id }) => id)).toEqual(selectors);
    expect((await listSnapshots(repository.context)).map(({ id }) => id)).toEqual([ids[2]]);
    expect(filesOf(repository, 'deleted').toSorted()).toEqual(selectors.toSorted());
    await repository.expectClean();
  });

  it('is an error in words where none is left to delete', async () => {
    const { repository, ids } = await makeThree();
    const racing = race(repository, { selectors: ids.slice(0, 2), faster: ids.slice(0, 2) });
    await expect(racing).rejects.toThrow(SnapshotNotFoundError);
    await expect(racing).rejects.toThrow('already deleted by another process: ');
    expect((await listSnapshots(repository.context)).map(({ id }) => id)).toEqual([ids[2]]);
  });
});

describe('a delete of several snapshots', () => {
  it('verifies its lock before each rename, and syncs each directory once, after the last', async () => {
    const { repository, ids } = await makeThree();
    const backend = new FaultyBackend(repository.context.backend, {
      only: (operation, name) =>
        (operation === 'rename' && name.includes('deleted/')) ||
        (operation === 'sizeOf' && name.startsWith('locks/')) ||
        (operation === 'syncDirectory' && ['deleted', 'snapshots'].includes(name)),
    });
    await deleteSnapshots({ ...repository.context, backend }, { selectors: ids, reclaim: false });
    const steps = backend.operations.map(({ operation, name }) => `${operation} ${name}`);
    const renames = ids.map((id) => `rename snapshots/${id} -> deleted/${id}`);
    const lock = expect.stringMatching(/^sizeOf locks/) as string;
    expect(steps.slice(-2 * ids.length - 2)).toEqual([
      ...renames.flatMap((rename) => [lock, rename]),
      'syncDirectory deleted',
      'syncDirectory snapshots',
    ]);
  });

  it('makes durable what it did before it failed', async () => {
    const { repository, ids } = await makeThree();
    let count = 0;
    const backend = new FaultyBackend(repository.context.backend, {
      failAt: 2,
      only: (operation, name) => operation === 'rename' && name.includes('deleted/'),
    });
    const sync = backend.syncDirectory.bind(backend);
    backend.syncDirectory = async (directory) => {
      if (directory === 'deleted') count += 1;
      await sync(directory);
    };
    await expect(deleteSnapshots({ ...repository.context, backend }, { selectors: ids })).rejects.toThrow(BackendError);
    expect(count).toBe(1);
    expect(filesOf(repository, 'deleted')).toEqual([ids[0]]);
    await repository.expectClean();
  });
});

test('an undelete that another process is faster with is an error in words', async () => {
  const { repository, ids } = await makeThree();
  const selectors = [ids[0]!];
  await deleteSnapshots(repository.context, { selectors, reclaim: false });
  const racing = undeleteSnapshots(
    { ...repository.context, backend: new Rival(repository.context.backend, selectors) },
    { selectors },
  );
  await expect(racing).rejects.toThrow(SnapshotNotFoundError);
  await expect(racing).rejects.toThrow('another process brought back');
  expect(await listSnapshots(repository.context)).toHaveLength(3);
});

describe('an undelete that loses its lock right before the rename', () => {
  it('takes the snapshot back if a compaction has removed its packs', async () => {
    const { repository, ids } = await makeThree();
    await deleteSnapshots(repository.context, { selectors: ids, reclaim: false });
    const undeleting = undeleteSnapshots(
      { ...repository.context, backend: new LockThief(repository.context.backend, removePacks) },
      { selectors: [ids[0]!] },
    );
    await expect(undeleting).rejects.toThrow(RefusedError);
    expect(filesOf(repository, 'snapshots')).toEqual([]);
    expect(filesOf(repository, 'deleted').toSorted()).toEqual(ids.toSorted());
    await compact(repository.context);
    await repository.expectClean();
  });

  it('leaves the snapshot where it is if nothing of it is missing', async () => {
    const { repository, ids } = await makeThree();
    await deleteSnapshots(repository.context, { selectors: ids, reclaim: false });
    const undeleting = undeleteSnapshots(
      { ...repository.context, backend: new LockThief(repository.context.backend, async () => undefined) },
      { selectors: [ids[0]!] },
    );
    await expect(undeleting).rejects.toThrow(RefusedError);
    expect(filesOf(repository, 'snapshots')).toEqual([ids[0]]);
    await repository.expectClean();
  });
});

/** A compaction that dies after it has removed the packs, and before the manifests of the deleted snapshots. */
async function removePacks(disk: FileSystemBackend): Promise<void> {
  const isManifest = (operation: string, name: string): boolean =>
    operation === 'remove' && name.startsWith('deleted/');
  const dying = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only: isManifest });
  await expect(compact(simulatedProcess(dying))).rejects.toThrow(SimulatedCrash);
}

/** Removes the locks and runs something else right before the first snapshot is brought back. */
class LockThief extends FaultyBackend {
  readonly #meanwhile: (disk: FileSystemBackend) => Promise<void>;
  #isDone = false;

  constructor(inner: FileSystemBackend, meanwhile: (disk: FileSystemBackend) => Promise<void>) {
    super(inner);
    this.#meanwhile = meanwhile;
  }

  override async rename(source: string, target: string): Promise<void> {
    if (target.startsWith('snapshots/') && !this.#isDone) {
      this.#isDone = true;
      for (const { name } of await this.inner.list('locks')) await this.inner.release(name);
      await this.#meanwhile(this.inner);
    }
    await super.rename(source, target);
  }
}

describe('a delete whose compaction fails', () => {
  it('says first that the snapshots are deleted, where the storage fails', async () => {
    const { repository, ids } = await makeThree();
    const backend = new FaultyBackend(repository.context.backend, {
      failAt: 1,
      errno: 'EIO',
      only: (operation, name) => operation === 'create' && name.startsWith('tmp/'),
    });
    const context = { ...repository.context, backend };
    const deleting = deleteSnapshots(context, { selectors: [ids[0]!] });
    await expect(deleting).rejects.toThrow(BackendError);
    await expect(deleting).rejects.toMatchObject({ errno: 'EIO', message: expect.stringMatching(DELETED) as string });
    expect((await listSnapshots(repository.context)).map(({ id }) => id)).toEqual(ids.slice(1));
  });

  it('says first that the snapshots are deleted, where data are damaged', async () => {
    const { repository, ids } = await makeThree();
    const backend = new FailingAfterDelete(
      repository.context.backend,
      () => new CorruptDataError('bad', { hint: 'x' }),
    );
    const deleting = deleteSnapshots({ ...repository.context, backend }, { selectors: [ids[0]!] });
    await expect(deleting).rejects.toThrow(CorruptDataError);
    await expect(deleting).rejects.toMatchObject({ hint: 'x', message: expect.stringMatching(DELETED) as string });
  });

  it('stays an interruption when it was interrupted', async () => {
    const { repository, ids } = await makeThree();
    const error = new CancelledError('SIGINT');
    const backend = new FailingAfterDelete(repository.context.backend, () => error);
    const deleting = deleteSnapshots({ ...repository.context, backend }, { selectors: [ids[0]!] });
    await expect(deleting).rejects.toBeInstanceOf(CancelledError);
    const failure = describeFailure(await deleting.catch((reason: unknown) => reason));
    const message = 'interrupted by SIGINT: the snapshots are deleted; `ldm compact` reclaims the space';
    expect(failure).toMatchObject({ message, text: `ldm: ${message}`, exitCode: 130 });
  });
});

const DELETED = /^the snapshots are deleted, but the space could not be reclaimed: /;

/** Renames snapshots away right before this process does. */
class Rival extends FaultyBackend {
  readonly #names: ReadonlySet<string>;

  constructor(inner: FileSystemBackend, ids: readonly string[]) {
    super(inner);
    this.#names = new Set(ids.flatMap((id) => [`snapshots/${id}`, `deleted/${id}`]));
  }

  override async rename(source: string, target: string): Promise<void> {
    const isRaced = this.#names.has(source) && (await this.inner.sizeOf(source)) !== undefined;
    if (isRaced) await this.inner.rename(source, target);
    await super.rename(source, target);
  }
}

/** Fails to list the packs once a snapshot is deleted. */
class FailingAfterDelete extends FaultyBackend {
  readonly #failure: () => Error;
  #isDeleted = false;

  constructor(inner: FileSystemBackend, failure: () => Error) {
    super(inner);
    this.#failure = failure;
  }

  override async rename(source: string, target: string): Promise<void> {
    await super.rename(source, target);
    if (target.startsWith('deleted/')) this.#isDeleted = true;
  }

  override async list(directory: string): ReturnType<FaultyBackend['list']> {
    if (this.#isDeleted && directory === 'packs') throw this.#failure();
    return await super.list(directory);
  }
}

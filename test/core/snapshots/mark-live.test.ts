import { expect, test } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { markLive } from '../../../src/core/removing/compaction-guard.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import type { OpenedState } from '../../../src/core/repository/opened-state.ts';
import { presentIds, setDamageStage } from '../../support/damage.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { unlockOfTests } from '../../support/test-password.ts';

// The state may come from a checkpoint; the manifests say what is live.

async function withOpened(
  run: (repository: Repository, opened: OpenedState, ids: string[]) => Promise<void>,
): Promise<void> {
  const stage = await setDamageStage(memoryDirectory());
  const repository = await Repository.open({ backend: stage.backend, mode: 'exclusive', unlock: unlockOfTests });
  try {
    await run(repository, await repository.openState(), presentIds(stage));
  } finally {
    await repository.close();
  }
}

test('every snapshot that is listed is marked', async () => {
  await withOpened(async (repository, opened, ids) => {
    expect([...(await markLive(repository, opened))].toSorted()).toEqual(ids.toSorted());
  });
});

test('a root in the state that is not the one of the manifest stops a compaction', async () => {
  await withOpened(async (repository, opened, [first, second]) => {
    const { snapshots } = opened.state;
    snapshots.set(first!, { ...snapshots.get(first!)!, tree: snapshots.get(second!)!.tree });
    await expect(markLive(repository, opened)).rejects.toThrow(/manifest of snapshot .* disagree/);
  });
});

test('so does a snapshot that only one of both knows', async () => {
  await withOpened(async (repository, opened, [first]) => {
    const folded = opened.state.snapshots.get(first!)!;
    opened.state.snapshots.set('ab'.repeat(32), folded);
    await expect(markLive(repository, opened)).rejects.toThrow(/which does not exist/);
    opened.state.snapshots.delete('ab'.repeat(32));
    opened.state.snapshots.delete(first!);
    await expect(markLive(repository, opened)).rejects.toThrow(RefusedError);
  });
});

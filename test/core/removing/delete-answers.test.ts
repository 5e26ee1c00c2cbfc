import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { unreliable } from '../../../src/core/backend/sure-reading.ts';
import { describeFailure } from '../../../src/cli/error-report.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

/** No answer about the packs is right once a snapshot is deleted. */
class WrongAfterDelete extends FaultyBackend {
  #isDeleted = false;

  override async rename(source: string, target: string): Promise<void> {
    await super.rename(source, target);
    if (target.startsWith('deleted/')) this.#isDeleted = true;
  }

  override async list(directory: string): ReturnType<FaultyBackend['list']> {
    if (this.#isDeleted && directory === 'packs') throw unreliable(this, directory);
    return await super.list(directory);
  }
}

test('a delete that cannot reclaim the space because answers are damaged does not say that nothing was changed', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), 'content');
  const { snapshotId } = await repository.backup();
  const backend = new WrongAfterDelete(repository.context.backend);
  const deleting = deleteSnapshots({ ...repository.context, backend }, { selectors: [snapshotId!] });
  const error: unknown = await deleting.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'UNRELIABLE_READ' });
  const { text } = describeFailure(error);
  expect(text).toMatch(/the snapshots are deleted, but the space could not be reclaimed/);
  expect(text).not.toMatch(/nothing was changed/i);
});

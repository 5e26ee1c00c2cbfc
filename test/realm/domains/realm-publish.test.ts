import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { backup } from '../../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { realmStatus } from '../../../src/realm/verbs/realm/status.ts';
import { createPrng } from '../../support/prng.ts';
import { newMember, newRealm } from '../../support/realm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { inSoak } from '../../support/soak.ts';

const SEED = 17;
/** More than the snapshots after which a checkpoint is written. */
const ROUNDS = 20;

/** What is published, compared with the plane of a state that is opened anew. */
async function expectPublished(context: OperationContext): Promise<void> {
  const own = (await realmStatus(context)).domains.find(({ isSelf }) => isSelf)!;
  expect(own).toMatchObject({ isCurrent: true, unpublished: 0, problem: undefined });
}

it(`what an operation publishes with its own state is what another process finds (seed ${SEED})`, async () => {
  const [file, source] = [await newRealm('plain'), memoryDirectory()];
  const context = await newMember('plain', file);
  await joinRealm(context, { coordinator: memoryDirectory(), name: 'a' });
  const random = createPrng(SEED);
  const options = { sources: [source], cwd: source };
  for (let round = 0; round < ROUNDS; round++) {
    writeFileSync(join(source, `file-${round % 5}`), random.bytes(10_000));
    if (round % inSoak(1, 5) === 0) {
      await backup(context, { ...options, dryRun: true });
      await expectPublished(context);
    }
    const { snapshotId } = await backup(context, options);
    await expectPublished(context);
    if (round % inSoak(1, 5) === 1) {
      await backup(context, { ...options, skipIfUnchanged: true });
      await expectPublished(context);
    }
    if (round % 4 !== 3) continue;
    await deleteSnapshots(context, { selectors: [snapshotId!] });
    await expectPublished(context);
  }
  expect(context.notices.filter(({ kind }) => kind === 'plane-not-published')).toEqual([]);
});

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { recoverFromGroups } from '../../../src/verbs/group/group-recover.ts';
import { addRepositoryKey, changeRepositoryPassword, removeRepositoryKeys } from '../../../src/verbs/key/keys.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { OLD, backUp, makeStage } from '../../support/lost-places.ts';
import type { Stage } from '../../support/lost-places.ts';
import { KeptTree } from '../../support/kept-tree.ts';
import { rolledBack } from '../../support/metadata-in-groups.ts';
import { createPrng } from '../../support/prng.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { removeTree } from '../../support/temp-directory.ts';
import { testPassword } from '../../support/test-password.ts';

// An older state in the place of an encrypted repository, and copies of a newer one in its groups.

const NEW = testPassword('new password');
const REFUSED = { code: 'REFUSED', advice: { code: 'recover-or-accept-older-state' } };

/** A file in `keys`, `snapshots` or `index` of the copies. */
function copied({ directory }: Stage, group: string, kind: string): string[] {
  return readdirSync(join(directory, group, 'metadata', kind)).toSorted();
}

async function backUpMore(stage: Stage): Promise<void> {
  writeFileSync(join(stage.directory, 'source', 'more'), createPrng(3).bytes(30_000));
  await backUp(stage.context, stage);
}

interface OlderState extends Stage {
  /** Id of the key of another password. */
  readonly otherId: string;
}

/** Makes the state that is newer. */
type Newer = (stage: Stage) => Promise<unknown>;

/** The chunks of a newer snapshot belong to deleted ones in the older state. */
async function makeOlderState(newer: Newer): Promise<OlderState> {
  const stage = await makeStage({ run: backUp, isEncrypted: true });
  const { keyIds } = await addRepositoryKey(stage.context, { newPassword: testPassword('other password') });
  const selectors = (await listSnapshots(stage.context)).map(({ id }) => id);
  await deleteSnapshots(stage.context, { selectors, reclaim: false });
  await rolledBack(join(stage.directory, 'own'), async () => newer(stage));
  return { ...stage, otherId: keyIds[0]! };
}

const kept = new Map<Newer, { readonly older: OlderState; readonly tree: KeptTree }>();

/** Each is made once, and then again from memory. */
async function withOlderState(newer: Newer): Promise<OlderState> {
  if (!kept.has(newer)) {
    const older = await makeOlderState(newer);
    kept.set(newer, { older, tree: new KeptTree(older.directory) });
  }
  const { older, tree } = kept.get(newer)!;
  removeTree(older.directory);
  tree.restore();
  onTestFinished(() => removeTree(older.directory));
  return { ...older, context: { ...older.context, backend: new LocalBackend(join(older.directory, 'own')) } };
}

const backUpNewer: Newer = async (stage) => backUp(stage.context, stage);

async function rotateAndBackUp(stage: Stage): Promise<void> {
  await rotateMasterKey(stage.context);
  await backUp(stage.context, stage);
}

type Act = (context: OperationContext, otherId: string) => Promise<unknown>;

const CHANGES: readonly [string, Act][] = [
  ['a rotation', rotateMasterKey],
  ['a removal of a key', async (context, otherId) => removeRepositoryKeys(context, [otherId])],
  ['a change of the password', async (context) => changeRepositoryPassword(context, { newPassword: NEW })],
];
const compactAll: Act = async (context) => compact(context, { maxUnusedPercent: 0 });

async function expectRecovered(stage: Stage): Promise<void> {
  const own = join(stage.directory, 'own');
  rmSync(own, { recursive: true });
  const context = { ...stage.context, backend: new LocalBackend(own) };
  await recoverFromGroups(context, [join(stage.directory, 'a')]);
  expect(await listSnapshots(context)).toHaveLength(1);
  // A compaction leaves the key of the newer state, which opens nothing.
  const { findings } = await check(context, { readData: true });
  expect(findings.filter(({ kind }) => kind !== 'key-unused')).toEqual([]);
}

test.each(CHANGES)('%s removes nothing while the copies have a newer snapshot', async (_, act) => {
  const stage = await withOlderState(backUpNewer);
  const before = copied(stage, 'a', 'keys');
  const own = readdirSync(join(stage.directory, 'own', 'keys'));
  await expect(act(stage.context, stage.otherId)).rejects.toMatchObject(REFUSED);
  expect(copied(stage, 'a', 'keys')).toEqual(before);
  expect(readdirSync(join(stage.directory, 'own', 'keys'))).toEqual(own);
});

test.each([...CHANGES, ['a compaction', compactAll] as const])(
  '%s removes nothing while the copies have a newer master key',
  async (_, act) => {
    const stage = await withOlderState(rotateAndBackUp);
    const before = copied(stage, 'a', 'keys');
    await expect(act(stage.context, stage.otherId)).rejects.toMatchObject({
      ...REFUSED,
      message:
        'the repository is older than the copies of it in the groups a, b, which have a newer master key (epoch 2); nothing was removed',
    });
    expect(copied(stage, 'a', 'keys')).toEqual(before);
    await expectRecovered(stage);
  },
);

test('a rotation alone makes the copies newer', async () => {
  const { context } = await withOlderState(async (each) => rotateMasterKey(each.context));
  await expect(compact(context)).rejects.toMatchObject(REFUSED);
});

test('what only adds leaves copies with a newer master key as they are, and says so', async () => {
  const stage = await withOlderState(rotateAndBackUp);
  const before = ['keys', 'snapshots', 'index'].map((kind) => copied(stage, 'b', kind));
  const notices: Notice[] = [];
  await backUpMore({ ...stage, context: { ...stage.context, onNotice: (notice) => void notices.push(notice) } });
  const reason = expect.stringContaining('have a newer master key') as string;
  for (const name of ['a', 'b']) expect(notices).toContainEqual({ kind: 'group-not-written', name, reason });
  await addRepositoryKey(stage.context, { newPassword: NEW });
  expect(['keys', 'snapshots', 'index'].map((kind) => copied(stage, 'b', kind))).toEqual(before);
  await expect(compact(stage.context)).rejects.toMatchObject(REFUSED);
  await expectRecovered(stage);
});

test.each<[string, Act, PasswordSource?]>([CHANGES[0]!, [...CHANGES[2]!, NEW], ['a compaction', compactAll]])(
  '%s goes on if the older state is accepted, and a compaction ends the newer one',
  async (_, act, password = OLD) => {
    const older = await withOlderState(rotateAndBackUp);
    await act({ ...older.context, acceptsOlderState: true }, older.otherId);
    const stage = { ...older, context: { ...older.context, password } };
    await compact({ ...stage.context, acceptsOlderState: true });
    await backUpMore(stage);
    await compact(stage.context);
    expect((await check(stage.context, { readData: true })).findings).toEqual([]);
    await expectRecovered(stage);
  },
);

test('the commands say what to do, and take the option', async () => {
  const { directory, otherId } = await withOlderState(backUpNewer);
  writeFileSync(join(directory, 'new'), 'new password');
  const env = { LDM_REPOSITORY: join(directory, 'own'), LDM_PASSWORD: 'old password' };
  for (const args of [
    ['remove', otherId],
    ['passwd', '--new-password-file=new'],
    ['rotate', '--password-file=new'],
  ]) {
    const run = async (...more: string[]): Promise<RunLdmResult> =>
      runLdmHere(['key', ...args, ...more], { cwd: directory, env });
    expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('--accept-older-state') as string });
    expect(await run('--accept-older-state')).toMatchObject({ code: 0 });
  }
});

import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { KEY_ROLES } from '../../../src/core/format/key-file.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import { addRepositoryKey } from '../../../src/verbs/key/keys.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { filesIn } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { contents } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { TEST_PASSWORD } from '../../support/test-password.ts';

interface Stage {
  /** Another repository, to copy from. */
  readonly from: MemoryBackend;
  readonly disk: MemoryBackend;
  readonly source: string;
  readonly context: OperationContext;
}

/** Two snapshots, and a deleted one. */
async function makeStage(options: InitOptions): Promise<Stage> {
  const disk = new MemoryBackend();
  const source = memoryDirectory();
  const context = { ...simulatedProcess(disk), password: TEST_PASSWORD };
  await initRepository(context, { capacity: 64, ...options });
  for (const text of ['one', 'two', 'three']) {
    writeFileSync(join(source, text), text.repeat(2000));
    await backup(context, { sources: [source], cwd: source });
  }
  const from = new MemoryBackend();
  await initRepository({ ...context, backend: from }, { capacity: 64, encryption: 'never' });
  await backup({ ...context, backend: from }, { sources: [source], cwd: source });
  await deleteSnapshots({ ...context, overridesAppendOnly: true }, { selectors: ['latest'], reclaim: false });
  return { from, disk, source, context };
}

type Act = (context: OperationContext, stage: Stage) => Promise<unknown>;

const READING: Readonly<Record<string, Act>> = {
  snapshots: async (context) => listSnapshots(context),
  ls: async (context) => listFiles(context, { selector: 'latest', recursive: true }, () => undefined),
  stats: async (context) => collectStats(context),
  check: async (context) => expect((await check(context, { readData: true })).findings).toEqual([]),
  restore: async (context) => restore(context, { selector: 'latest', target: memoryDirectory() }),
};
const ADDING: Readonly<Record<string, Act>> = {
  backup: async (context, { source }) => {
    appendFileSync(join(source, 'one'), 'more');
    await backup(context, { sources: [source], cwd: source });
  },
  'copy to it': async (context, { from }) => {
    const { password, backend } = context;
    const { problems } = await copySnapshots({ ...context, backend: from }, { destination: { backend, password } });
    expect(problems).toEqual([]);
  },
};
const REMOVING: Readonly<Record<string, Act>> = {
  undelete: async (context) => undeleteSnapshots(context, { selectors: ['latest'] }),
  delete: async (context) => deleteSnapshots(context, { selectors: ['latest'] }),
  repair: async (context) => repair(context),
  compact: async (context) => compact(context),
};

async function expectRefused(
  acts: Readonly<Record<string, Act>>,
  stage: Stage,
  context: OperationContext,
): Promise<void> {
  const before = contents(stage.disk);
  for (const [name, act] of Object.entries(acts)) {
    await expect(act(context, stage), name).rejects.toThrow(RefusedError);
    // Not even a lock.
    expect(contents(stage.disk), name).toEqual(before);
  }
}

async function expectDone(acts: Readonly<Record<string, Act>>, stage: Stage, context: OperationContext): Promise<void> {
  for (const act of Object.values(acts)) await act(context, stage);
}

describe.each(KEY_ROLES)('the password of a key with the role %s', (role) => {
  test('opens what the role includes, and nothing else', async () => {
    const stage = await makeStage({ encryption: 'always' });
    const read = async (): Promise<Uint8Array> => Buffer.from(role);
    const password = { isConfigured: true, read, readNew: read };
    await addRepositoryKey(stage.context, { newPassword: password, role });
    const context = { ...stage.context, password };
    await expectDone(READING, stage, context);
    await (role === 'read' ? expectRefused : expectDone)(ADDING, stage, context);
    await (role === 'full' ? expectDone : expectRefused)(REMOVING, stage, context);
    if (role === 'full') return;
    const wanted = role === 'read' ? 'only read' : 'only read and add snapshots';
    const message = new RegExp(`^the key [0-9a-f]{8} has the role ${role} and may ${wanted}$`);
    await expect(compact(context)).rejects.toThrow(message);
    await expect(compact(context)).rejects.toMatchObject({ hint: expect.stringContaining('a promise of ldm') });
  });
});

describe.each(['always', 'never'] as const)('an append-only repository, encrypted: %s', (encryption) => {
  test('can be read and added to; removing needs an explicit wish', async () => {
    const stage = await makeStage({ appendOnly: true, encryption });
    await expectDone({ ...READING, ...ADDING }, stage, stage.context);
    await expectRefused(REMOVING, stage, stage.context);
    await expectDone(REMOVING, stage, { ...stage.context, overridesAppendOnly: true });
    expect(filesIn(stage.disk, 'deleted')).toEqual([]);
  });
});

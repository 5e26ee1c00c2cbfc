import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import type { FileWriter } from '../../../src/core/backend/publication.ts';
import { NoPasswordError, WrongPasswordError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { exportKeys, importKeys, testKeyPage } from '../../../src/verbs/key/key-pages.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { addRepositoryKey, listRepositoryKeys } from '../../../src/verbs/key/keys.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { SMALL_INIT } from '../../support/crash-stage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { contents } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

function password(text: string): PasswordSource {
  const read = async (): Promise<Buffer> => Buffer.from(text);
  return { isConfigured: true, read, readNew: read };
}

function contextOf(backend: OperationContext['backend'], text = 'mine'): OperationContext {
  return { ...simulatedProcess(backend), password: password(text) };
}

async function backUp(backend: OperationContext['backend'], source: string): Promise<void> {
  await backup(contextOf(backend), { sources: [source], cwd: '/' });
}

async function makeRepository(): Promise<{ backend: MemoryBackend; source: string }> {
  const backend = new MemoryBackend();
  await initRepository(contextOf(backend), { ...SMALL_INIT, encryption: 'always' });
  const source = join(memoryDirectory(), 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'file'), 'content');
  await backUp(backend, source);
  return { backend, source };
}

test('the result says whose keys must be added again', async () => {
  const { backend } = await makeRepository();
  const hers = await addRepositoryKey(contextOf(backend), { newPassword: password('hers'), label: 'anna' });
  const limited = await addRepositoryKey(contextOf(backend), { newPassword: password('his'), role: 'read' });
  await expect(rotateMasterKey(contextOf(backend, 'his'))).rejects.toThrow('may not rotate the master key');
  const result = await rotateMasterKey(contextOf(backend));
  expect(new Set(result.lost.map(({ id }) => id))).toEqual(new Set([...hers.keyIds, ...limited.keyIds]));
  expect(result.removedIds).toHaveLength(3);
  expect((await listRepositoryKeys(contextOf(backend))).keys).toMatchObject([{ id: result.keyId, keyEpoch: 2 }]);
  await expect(check(contextOf(backend, 'hers'))).rejects.toThrow(WrongPasswordError);
  expect((await rotateMasterKey(contextOf(backend))).lost).toEqual([]);
});

test('it needs the repository for itself, and a password', async () => {
  const { backend } = await makeRepository();
  const lock = await RepositoryLock.acquire(backend, { mode: 'shared' });
  const before = contents(backend);
  await expect(rotateMasterKey(contextOf(backend))).rejects.toMatchObject({ code: 'REPOSITORY_LOCKED' });
  await expect(rotateMasterKey({ ...contextOf(backend), password: undefined })).rejects.toThrow(NoPasswordError);
  await expect(rotateMasterKey(contextOf(backend, 'wrong'))).rejects.toThrow(WrongPasswordError);
  expect(contents(backend)).toEqual(before);
  await lock.release();
});

test('a page of the earlier master key opens nothing any more, and says so', async () => {
  const { backend } = await makeRepository();
  const page = (await exportKeys(contextOf(backend))).lines.join('\n');
  await rotateMasterKey(contextOf(backend));
  const older = 'the page is from before the last rotation of the master key (epoch 1, now 2)';
  await expect(testKeyPage(contextOf(backend), { page })).rejects.toThrow(older);
  const imported = importKeys(contextOf(backend), { page, newPassword: password('new') });
  await expect(imported).rejects.toThrow(WrongPasswordError);
  const { lines, epochs } = await exportKeys(contextOf(backend));
  expect(epochs).toEqual([2]);
  await importKeys(contextOf(backend), { page: lines.join('\n'), newPassword: password('new') });
  expect((await check(contextOf(backend, 'new'), { readData: true })).findings).toEqual([]);
});

test('a key that is added meanwhile would open nothing, and is refused', async () => {
  const { backend } = await makeRepository();
  const slow = {
    ...password('hers'),
    readNew: async () => {
      await rotateMasterKey(contextOf(backend));
      return Buffer.from('hers');
    },
  };
  const added = addRepositoryKey(contextOf(backend), { newPassword: slow });
  await expect(added).rejects.toThrow(/^the key \w{8} was removed meanwhile; nothing was changed$/);
  expect((await listRepositoryKeys(contextOf(backend))).keys).toHaveLength(1);
});

/** Somebody else rotates the master key and backs up at the first call that `at` matches. */
class RotatedMeanwhile extends FaultyBackend {
  readonly #at: RegExp;
  readonly #isReadOnly: boolean;
  readonly #meanwhile: () => Promise<void>;
  hasRotated = false;

  constructor(inner: MemoryBackend, given: { at: RegExp; isReadOnly: boolean; meanwhile: () => Promise<void> }) {
    super(inner);
    this.#at = given.at;
    this.#isReadOnly = given.isReadOnly;
    this.#meanwhile = given.meanwhile;
  }

  override async guard<T>(...call: Parameters<FaultyBackend['guard']>): Promise<T> {
    const [operation, name, action] = call;
    if (!this.hasRotated && this.#at.test(`${operation} ${name}`)) {
      this.hasRotated = true;
      await this.#meanwhile();
    }
    return (await action()) as T;
  }

  override async create(name: string): Promise<FileWriter> {
    if (!this.#isReadOnly) return await super.create(name);
    throw backendFailure({ location: this.location, operation: 'create', name, errno: 'EROFS' });
  }
}

function snapshotsOf(backend: MemoryBackend): string[] {
  return backend.names().filter((name) => name.startsWith('snapshots/'));
}

describe('who opened the repository before', () => {
  const actions = {
    backup: async (context: OperationContext, source: string) => backup(context, { sources: [source], cwd: '/' }),
    check: async (context: OperationContext) => check(context, { readData: true }),
    repair: async (context: OperationContext) => repair(context),
    compact: async (context: OperationContext) => compact(context, {}),
    forget: async (context: OperationContext) => forgetByPolicy(context, { policy: { counts: { last: 1 } } }),
    delete: async (context: OperationContext) => deleteSnapshots(context, { selectors: ['latest'] }),
    tag: async (context: OperationContext) => tagSnapshots(context, { selectors: ['latest'], add: ['seen'] }),
    copy: async (context: OperationContext) =>
      copySnapshots(context, { destination: contextOf((await makeRepository()).backend) }),
    'copy to it': async (context: OperationContext) =>
      copySnapshots(contextOf((await makeRepository()).backend), { destination: context }),
  };

  test.each(Object.keys(actions) as (keyof typeof actions)[])(
    'and has waited for the lock since reads the configuration again (%s), and nothing is taken for damaged',
    async (kind) => {
      const { backend, source } = await makeRepository();
      const meanwhile = async (): Promise<void> => {
        await rotateMasterKey(contextOf(backend));
        writeFileSync(join(source, 'new'), 'new');
        await backUp(backend, source);
      };
      const waiting = new RotatedMeanwhile(backend, { at: /^create locks/, isReadOnly: false, meanwhile });
      await actions[kind](contextOf(waiting), source);
      expect(waiting.hasRotated).toBe(true);
      expect(backend.names().filter((name) => /^(quarantine|locks)\//.test(name))).toEqual([]);
      expect((await check(contextOf(backend), { readData: true })).findings).toEqual([]);
    },
  );

  test('and whose password was removed since is refused', async () => {
    const { backend, source } = await makeRepository();
    await addRepositoryKey(contextOf(backend), { newPassword: password('hers') });
    const meanwhile = async (): Promise<void> => void (await rotateMasterKey(contextOf(backend)));
    const waiting = new RotatedMeanwhile(backend, { at: /^create locks/, isReadOnly: false, meanwhile });
    const before = snapshotsOf(backend);
    await expect(backup(contextOf(waiting, 'hers'), { sources: [source], cwd: '/' })).rejects.toThrow(
      WrongPasswordError,
    );
    expect(snapshotsOf(backend)).toEqual(before);
    expect(backend.names().filter((name) => name.startsWith('locks/'))).toEqual([]);
  });

  test.each([/^list keys/, /^read keys/])('before it reads the key files begins again (%s)', async (at) => {
    const { backend, source } = await makeRepository();
    const meanwhile = async (): Promise<void> => void (await rotateMasterKey(contextOf(backend)));
    const waiting = new RotatedMeanwhile(backend, { at, isReadOnly: false, meanwhile });
    await backup(contextOf(waiting), { sources: [source], cwd: '/' });
    expect(waiting.hasRotated).toBe(true);
    expect((await check(contextOf(backend), { readData: true })).findings).toEqual([]);
  });

  test.each([/^list condemned/, /^list index/, /^read snapshots/])(
    'and reads without a lock is told to run the command again (%s)',
    async (at) => {
      const { backend, source } = await makeRepository();
      const meanwhile = async (): Promise<void> => {
        await rotateMasterKey(contextOf(backend));
        writeFileSync(join(source, 'new'), 'new');
        await backUp(backend, source);
      };
      const reader = new RotatedMeanwhile(backend, { at, isReadOnly: true, meanwhile });
      await expect(check(contextOf(reader))).rejects.toThrow(
        'the configuration was changed meanwhile: another command may have rotated the master key',
      );
      expect((await check(contextOf(reader))).findings).toEqual([]);
    },
  );
});

test('after an interruption between the copies of the configuration, check warns, and a repair replaces the older', async () => {
  const { backend, source } = await makeRepository();
  const isLast = (operation: string, name: string): boolean => operation === 'rename' && name.endsWith(' -> config');
  const faulty = new FaultyBackend(backend, { failAt: 1, mode: 'crash', only: isLast });
  await expect(rotateMasterKey(contextOf(faulty))).rejects.toThrow('simulated crash');
  await backUp(backend, source);
  expect((await check(contextOf(backend))).findings).toEqual([
    { severity: 'warning', kind: 'config-outdated', name: 'config' },
  ]);
  const { actions } = await repair(contextOf(backend));
  expect(actions[0]).toEqual({ kind: 'config-updated', name: 'config', from: 'config.bak' });
  expect(backend.peek('config')).toEqual(backend.peek('config.bak'));
  const { keys } = await listRepositoryKeys(contextOf(backend));
  const { id: keyId } = keys.find(({ keyEpoch }) => keyEpoch === 1)!;
  const { findings } = await check(contextOf(backend), { readData: true });
  expect(findings).toEqual([{ severity: 'warning', kind: 'key-unused', keyId }]);
  await rotateMasterKey(contextOf(backend));
  expect((await check(contextOf(backend), { readData: true })).findings).toEqual([]);
});

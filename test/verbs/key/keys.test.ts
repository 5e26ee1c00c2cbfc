import { describe, expect, test } from 'vitest';
import type { FileSystemBackend } from '../../../src/core/backend/file-system-backend.ts';
import type { FileWriter } from '../../../src/core/backend/publication.ts';
import { createMasterKey } from '../../../src/core/crypto/master-key.ts';
import { NoPasswordError, RefusedError, WrongPasswordError } from '../../../src/core/errors.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { exportKeys, importKeys, testKeyPage } from '../../../src/verbs/key/key-pages.ts';
import {
  addRepositoryKey,
  changeRepositoryPassword,
  listRepositoryKeys,
  removeRepositoryKeys,
} from '../../../src/verbs/key/keys.ts';
import { encodeKeyLines } from '../../../src/core/format/key-page.ts';
import { keyName } from '../../../src/core/format/layout.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import { addKey } from '../../../src/core/repository/keys/key-changes.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { CHEAP, PASSWORD, makeEncryptedRepository } from '../../support/encrypted-repository.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { plainPlace } from '../../support/plain-place.ts';

/** A source that gives these passwords one after the other, and keeps what it gave. */
function passwords(texts: readonly string[], isConfigured = true): PasswordSource & { readonly given: Buffer[] } {
  const given: Buffer[] = [];
  const next = async (): Promise<Buffer> => {
    const text = texts[given.length];
    if (text === undefined) throw new NoPasswordError('no more passwords');
    given.push(Buffer.from(text));
    return given.at(-1)!;
  };
  return { isConfigured, given, read: next, readNew: next };
}

async function repositoryWith(
  password: PasswordSource = passwords([PASSWORD, PASSWORD, PASSWORD, PASSWORD]),
): Promise<{ context: OperationContext; notices: Notice[]; keyId: string }> {
  const { backend, keyId } = await makeEncryptedRepository();
  const notices: Notice[] = [];
  return { context: { backend, password, onNotice: (notice) => void notices.push(notice) }, notices, keyId };
}

async function opensWith(context: OperationContext, password: string): Promise<boolean> {
  return await exportKeys({ ...context, password: passwords([password]) }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof WrongPasswordError) return false;
      throw error;
    },
  );
}

describe('a password that is typed', () => {
  test('may be wrong twice', async () => {
    const { context, notices } = await repositoryWith(passwords(['wrong', 'again', PASSWORD], false));
    await exportKeys(context);
    expect(notices).toEqual([{ kind: 'wrong-password' }, { kind: 'wrong-password' }]);
  });

  test('may not be wrong three times, nor once if it comes from a file', async () => {
    const { context } = await repositoryWith(passwords(['a', 'b', 'c', PASSWORD], false));
    await expect(exportKeys(context)).rejects.toThrow(WrongPasswordError);
    const configured = await repositoryWith(passwords(['a', PASSWORD]));
    await expect(exportKeys(configured.context)).rejects.toThrow(WrongPasswordError);
    expect(configured.notices).toEqual([]);
  });

  test('is wiped after use, whether it was right or not', async () => {
    const source = passwords(['wrong', PASSWORD], false);
    const newPassword = passwords(['new']);
    const { context } = await repositoryWith(source);
    await addRepositoryKey(context, { newPassword });
    for (const bytes of [...source.given, ...newPassword.given]) expect(bytes.every((byte) => byte === 0)).toBe(true);
    expect([source.given.length, newPassword.given.length]).toEqual([2, 1]);
  });

  test('is needed', async () => {
    const { context } = await repositoryWith();
    await expect(exportKeys({ ...context, password: undefined })).rejects.toThrow(NoPasswordError);
  });
});

test('adding, listing, changing and removing', async () => {
  const { context, keyId } = await repositoryWith();
  const added = await addRepositoryKey(context, { newPassword: passwords(['anna']), role: 'backup', label: 'Anna' });
  const { keys } = await listRepositoryKeys(context);
  expect(keys.map(({ id, role, label }) => [id, role, label]).toSorted((a, b) => (a[1]! < b[1]! ? -1 : 1))).toEqual([
    [added.keyIds[0], 'backup', 'Anna'],
    [keyId, 'full', undefined],
  ]);
  const anna = { ...context, password: passwords(['anna']) };
  const changed = await changeRepositoryPassword(anna, { newPassword: passwords(['hanna']) });
  expect(changed.replacedIds).toEqual(added.keyIds);
  expect((await listRepositoryKeys(context)).keys.find(({ label }) => label === 'Anna')?.role).toBe('backup');
  expect(await removeRepositoryKeys(context, [changed.keyIds[0]!.slice(0, 8)])).toEqual(changed.keyIds);
  expect((await listRepositoryKeys(context)).keys.map(({ id }) => id)).toEqual([keyId]);
  expect(await opensWith(context, 'hanna')).toBe(false);
});

describe('a role', () => {
  test.each(['backup', 'read'] as const)('of %s may change its own password and nothing else', async (role) => {
    const { context, keyId } = await repositoryWith();
    await addRepositoryKey(context, { newPassword: passwords(['limited']), role });
    const limited = (): OperationContext => ({ ...context, password: passwords(['limited']) });
    const refused = [
      async () => addRepositoryKey(limited(), { newPassword: passwords(['x']) }),
      async () => removeRepositoryKeys(limited(), [keyId]),
      async () => exportKeys(limited()),
    ];
    for (const attempt of refused)
      await expect(attempt()).rejects.toThrow(new RegExp(`has the role ${role} and may not`));
    await changeRepositoryPassword(limited(), { newPassword: passwords(['x']) });
    expect((await listRepositoryKeys(context)).keys).toHaveLength(2);
  });
});

describe('a removal', () => {
  test('spares the key of its own password, whatever else is to be removed', async () => {
    const { context, keyId } = await repositoryWith();
    const { keyIds } = await addRepositoryKey(context, { newPassword: passwords(['other']) });
    await expect(removeRepositoryKeys(context, [keyIds[0]!, keyId])).rejects.toThrow(RefusedError);
    expect((await listRepositoryKeys(context)).keys).toHaveLength(2);
  });

  test('of what is no id, unknown or ambiguous asks for no password', async () => {
    const { context } = await repositoryWith(passwords([]));
    await expect(removeRepositoryKeys(context, ['anna'])).rejects.toThrow('"anna" is not the id of a key');
    await expect(removeRepositoryKeys(context, ['0123abcd'])).rejects.toThrow('the repository has no key 0123abcd');
  });

  test('needs the repository for itself, and an addition does not', async () => {
    const { context, keyId } = await repositoryWith(passwords(Array.from({ length: 3 }, () => PASSWORD)));
    const lock = await RepositoryLock.acquire(context.backend, { mode: 'shared' });
    const { keyIds } = await addRepositoryKey(context, { newPassword: passwords(['other']) });
    const other = { ...context, password: passwords(['other', 'other']) };
    await expect(removeRepositoryKeys(other, [keyId])).rejects.toMatchObject({ code: 'REPOSITORY_LOCKED' });
    await lock.release();
    await removeRepositoryKeys(other, [keyId]);
    expect((await listRepositoryKeys(context)).keys.map(({ id }) => id)).toEqual(keyIds);
    expect(await context.backend.list('locks')).toEqual([]);
  });
});

test('a password that is in use is refused as a new one, and nothing changes', async () => {
  const { context, keyId } = await repositoryWith();
  const { lines } = await exportKeys(context);
  const again = { newPassword: passwords([PASSWORD]) };
  const attempts = [
    async () => addRepositoryKey(context, again),
    async () => changeRepositoryPassword(context, again),
    async () => importKeys(context, { ...again, page: lines.join('\n') }),
  ];
  for (const attempt of attempts) {
    Object.assign(again, { newPassword: passwords([PASSWORD]) });
    await expect(attempt()).rejects.toMatchObject({
      message: `the new password is already in use by the key ${keyId.slice(0, 8)}; nothing was changed`,
    });
  }
  expect((await listRepositoryKeys(context)).keys.map(({ id }) => id)).toEqual([keyId]);
});

/** Runs something right before this process acquires its lock. */
class BeforeLock extends FaultyBackend {
  readonly #meanwhile: () => Promise<void>;
  #isDone = false;

  constructor(inner: FileSystemBackend, meanwhile: () => Promise<void>) {
    super(inner);
    this.#meanwhile = meanwhile;
  }

  override async create(name: string): Promise<FileWriter> {
    if (!this.#isDone) {
      this.#isDone = true;
      await this.#meanwhile();
    }
    return await super.create(name);
  }
}

const CHANGES: Readonly<Record<string, (context: OperationContext, third: string) => Promise<unknown>>> = {
  add: async (context) => addRepositoryKey(context, { newPassword: passwords(['new']) }),
  passwd: async (context) => changeRepositoryPassword(context, { newPassword: passwords(['new']) }),
  remove: async (context, third) => removeRepositoryKeys(context, [third]),
  rotate: async (context) => rotateMasterKey(context),
};

test.each(Object.entries(CHANGES))('who is removed while %s waits for its lock changes nothing', async (_, change) => {
  const { context, keyId } = await repositoryWith();
  const own = await addRepositoryKey(context, { newPassword: passwords(['hers']) });
  const third = await addRepositoryKey(context, { newPassword: passwords(['third']) });
  const backend = new BeforeLock(context.backend as FileSystemBackend, async () => {
    await removeRepositoryKeys(context, own.keyIds);
  });
  const changing = change({ ...context, backend, password: passwords(['hers']) }, third.keyIds[0]!);
  await expect(changing).rejects.toThrow(/^the key \w{8} was removed meanwhile; nothing was changed$/);
  const left = (await listRepositoryKeys(context)).keys.map(({ id }) => id);
  expect(left.toSorted()).toEqual([keyId, ...third.keyIds].toSorted());
});

describe('an exported page', () => {
  test('opens the repository when all keys are lost', async () => {
    const { context, keyId } = await repositoryWith();
    const page = (await exportKeys(context)).lines.join('\n');
    await context.backend.remove(keyName(keyId));
    await expect(exportKeys(context)).rejects.toMatchObject({ advice: { code: 'list-or-import-key' } });
    expect((await testKeyPage(context, { page })).epochs).toEqual([1]);
    expect(await context.backend.list('keys')).toEqual([]);
    const { keyIds } = await importKeys(context, { page, newPassword: passwords(['new']), label: 'from paper' });
    expect(await opensWith(context, 'new')).toBe(true);
    expect((await listRepositoryKeys(context)).keys).toMatchObject([
      { id: keyIds[0], role: 'full', label: 'from paper' },
    ]);
  });

  test('of another repository is refused, and so is one with another key', async () => {
    const { context } = await repositoryWith();
    const { repositoryId } = await exportKeys(context);
    const page = (await exportKeys((await repositoryWith()).context)).lines.join('\n');
    const newPassword = passwords([]);
    await expect(importKeys(context, { page, newPassword })).rejects.toThrow('the page belongs to another repository');
    const forged = encodeKeyLines([{ epoch: 1, bytes: Buffer.alloc(32) }], repositoryId).join('\n');
    await expect(importKeys(context, { page: forged, newPassword })).rejects.toThrow(WrongPasswordError);
    await expect(testKeyPage(context, { page: forged })).rejects.toThrow(WrongPasswordError);
    expect((await listRepositoryKeys(context)).keys).toHaveLength(1);
  });
});

test('a key file that somebody has exchanged for one with another master key is not used', async () => {
  const { context, keyId } = await repositoryWith();
  const { repositoryId } = await exportKeys(context);
  const key = { password: Buffer.from('exchanged'), masterKey: createMasterKey(1), role: 'full' } as const;
  const created = '2026-01-02T03:04:05Z';
  await addKey(new DurableOrder(plainPlace(context.backend)), { ...key, repositoryId, created, kdf: CHEAP });
  await context.backend.remove(keyName(keyId));
  const failed = exportKeys({ ...context, password: passwords(['exchanged']) });
  await expect(failed).rejects.toThrow('the password opens a key, but that key does not open the configuration');
});

test('a damaged key is reported once, and the others work', async () => {
  const { context, notices } = await repositoryWith(passwords(['wrong', PASSWORD], false));
  await context.backend.publish(keyName('ab'.repeat(32)), Buffer.from('garbage'));
  await exportKeys(context);
  expect(notices.map(({ kind }) => kind)).toEqual(['key-unusable', 'wrong-password']);
});

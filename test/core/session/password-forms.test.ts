import { expect, test } from 'vitest';
import { PLAIN } from '../../../src/core/crypto/seals.ts';
import { WrongPasswordError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { addRepositoryKey, changeRepositoryPassword, listRepositoryKeys } from '../../../src/verbs/key/keys.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import { addKey } from '../../../src/core/repository/keys/key-changes.ts';
import { unlock } from '../../../src/core/repository/keys/key-files.ts';
import { readSealedConfig } from '../../../src/core/repository/sealed-config.ts';
import { SMALL_INIT } from '../../support/crash-stage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';

const MARK = '\uFEFF';
const [NFC, NFD] = ['pässword', 'pa\u0308ssword'];

function password(text: string): PasswordSource {
  const read = async (): Promise<Buffer> => Buffer.from(text);
  return { isConfigured: true, read, readNew: read };
}

function contextOf(backend: OperationContext['backend'], text: string): OperationContext {
  return { ...simulatedProcess(backend), password: password(text) };
}

/** An encrypted repository with a second password, byte for byte as an earlier program has set it. */
async function makeRepository(text: string): Promise<MemoryBackend> {
  const backend = new MemoryBackend();
  await initRepository(contextOf(backend, 'other'), { ...SMALL_INIT, encryption: 'always' });
  const config = await readSealedConfig(backend);
  const { repositoryId } = config;
  const { masterKeys } = await unlock(backend, repositoryId, Buffer.from('other'), { config });
  const order = new DurableOrder({ backend, seals: PLAIN });
  const created = '2026-01-02T03:04:05Z';
  await addKey(order, { repositoryId, masterKey: masterKeys[0]!, password: Buffer.from(text), role: 'full', created });
  return backend;
}

test.each([`${MARK}secret`, 'secret\n', 'secret\nsecond', 'sec\tret', NFC, NFD])(
  'a password that was set as %j opens the repository as before, and a rotation keeps it',
  async (text) => {
    const backend = await makeRepository(text);
    expect((await check(contextOf(backend, text))).findings).toEqual([]);
    await rotateMasterKey(contextOf(backend, text));
    expect((await check(contextOf(backend, text))).findings).toEqual([]);
  },
);

test.each([
  ['secret', `${MARK}secret`],
  ['secret', 'secret\n'],
  ['secret', `${MARK}secret\r\n\n`],
  [NFC, NFD],
  [NFD, NFC],
  [NFC, `${MARK}${NFD}\n`],
])('a password that was set as %j is also right as %j', async (set, given) => {
  const backend = await makeRepository(set);
  expect((await check(contextOf(backend, given))).findings).toEqual([]);
  await expect(check(contextOf(backend, `${given}x`))).rejects.toThrow(WrongPasswordError);
});

class CountingKeys extends FaultyBackend {
  readCount = 0;

  override async guard<T>(...call: Parameters<FaultyBackend['guard']>): Promise<T> {
    if (call[0] === 'list' && call[1] === 'keys') this.readCount += 1;
    return (await call[2]()) as T;
  }
}

test.each([
  ['secret', 'wrong', 1],
  ['secret', 'wröng', 2],
  ['secret', `${MARK}wröng\n`, 3],
  [NFC, NFC, 1],
  [NFC, NFD, 2],
])('of the password %j, %j is tried in as many forms as differ until one is right: %d', async (set, given, count) => {
  const backend = new CountingKeys(await makeRepository(set));
  const opening = withRepository(contextOf(backend, given), 'list', async () => undefined);
  await opening.catch((error: unknown) => expect(error).toBeInstanceOf(WrongPasswordError));
  expect(backend.readCount).toBe(count);
});

test('each command that sets a password sets what can be typed, or changes nothing', async () => {
  const backend = await makeRepository('secret');
  await addRepositoryKey(contextOf(backend, 'secret'), { newPassword: password(`${MARK}added\r\n`) });
  await changeRepositoryPassword(contextOf(backend, 'secret'), { newPassword: password(`${MARK}changed`) });
  for (const text of ['added', 'changed']) expect((await check(contextOf(backend, text))).findings).toEqual([]);
  const before = await listRepositoryKeys(contextOf(backend, 'added'));
  const newPassword = password('two\nlines');
  const added = addRepositoryKey(contextOf(backend, 'added'), { newPassword });
  await expect(added).rejects.toThrow('the new password contains a line break');
  const changed = changeRepositoryPassword(contextOf(backend, 'added'), { newPassword });
  await expect(changed).rejects.toThrow('the new password contains a line break');
  const empty = new MemoryBackend();
  const created = initRepository(contextOf(empty, 'two\nlines'), { ...SMALL_INIT, encryption: 'always' });
  await expect(created).rejects.toThrow('the new password contains a line break');
  expect(empty.names()).toEqual([]);
  expect(await listRepositoryKeys(contextOf(backend, 'added'))).toEqual(before);
});

test('another form of a password that is in use is no new password', async () => {
  const backend = await makeRepository(NFC);
  const added = addRepositoryKey(contextOf(backend, 'other'), { newPassword: password(NFD) });
  await expect(added).rejects.toThrow(/^the new password is already in use by the key/);
});

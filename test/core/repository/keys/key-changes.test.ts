import { plainPlace } from '../../../support/plain-place.ts';
import { describe, expect, test } from 'vitest';
import { createMasterKey } from '../../../../src/core/crypto/master-key.ts';
import { BackendError, RefusedError, WrongPasswordError } from '../../../../src/core/errors.ts';
import { keyName } from '../../../../src/core/format/layout.ts';
import { DurableOrder } from '../../../../src/core/repository/durable-order.ts';
import { changePassword, removeKey } from '../../../../src/core/repository/keys/key-changes.ts';
import { unlock } from '../../../../src/core/repository/keys/key-files.ts';
import { FaultyBackend } from '../../../support/faulty-backend.ts';
import { MemoryBackend } from '../../../support/memory-backend.ts';
import { PowerCutBackend } from '../../../support/power-cut-backend.ts';
import { NEW, REPOSITORY_ID, keyedRepository } from './key-files-support.ts';

const held = async (): Promise<void> => undefined;
const lost = async (): Promise<void> => Promise.reject(new RefusedError('the lock is gone'));

async function opens(backend: MemoryBackend, password: string): Promise<boolean> {
  try {
    await unlock(backend, REPOSITORY_ID, Buffer.from(password));
    return true;
  } catch (error) {
    if (error instanceof WrongPasswordError) return false;
    throw error;
  }
}

test('a new key is durable on return, and named by its bytes', async () => {
  const { backend, add } = keyedRepository(new PowerCutBackend());
  const id = await add('first');
  expect(backend.cut().names()).toEqual([keyName(id)]);
  expect(await opens(backend.cut(), 'first')).toBe(true);
});

describe('a removal', () => {
  test('takes the password away at once', async () => {
    const repository = keyedRepository(new PowerCutBackend());
    const [first, second] = [await repository.add('first'), await repository.add('second')];
    await removeKey(repository, first, held);
    expect(await opens(repository.backend.cut(), 'first')).toBe(false);
    await expect(removeKey(repository, second, held)).rejects.toThrow(/is the last key with the role full/);
    expect(await opens(repository.backend, 'second')).toBe(true);
  });

  test('never leaves keys only that may not add others', async () => {
    const repository = keyedRepository(new MemoryBackend());
    const full = await repository.add('first');
    const read = await repository.add('second', { role: 'read' });
    await expect(removeKey(repository, full, held)).rejects.toThrow(RefusedError);
    await removeKey(repository, read, held);
    expect(repository.backend.names()).toEqual([keyName(full)]);
  });

  test('does not count keys of other epochs than that of the configuration, and takes them away', async () => {
    const repository = keyedRepository(new MemoryBackend());
    const current = await repository.add('first');
    const other = await repository.add('first', { masterKey: createMasterKey(2) });
    await expect(removeKey(repository, current, held)).rejects.toThrow(RefusedError);
    await removeKey(repository, other, held);
    expect(repository.backend.names()).toEqual([keyName(current)]);
  });

  test('of a damaged key file works while another one does', async () => {
    const repository = keyedRepository(new MemoryBackend());
    const [first, second] = [await repository.add('first'), await repository.add('second')];
    repository.backend.poke(keyName(first), Buffer.from('garbage'));
    await expect(removeKey(repository, second, held)).rejects.toThrow(RefusedError);
    await removeKey(repository, first, held);
    expect(repository.backend.names()).toEqual([keyName(second)]);
  });

  test('of what does not exist, or without the lock, removes nothing', async () => {
    const repository = keyedRepository(new MemoryBackend());
    const [first] = [await repository.add('first'), await repository.add('second')];
    await expect(removeKey(repository, 'ab'.repeat(32), held)).rejects.toThrow('the repository has no key abababab');
    await expect(removeKey(repository, first, lost)).rejects.toThrow('the lock is gone');
    let count = 0;
    const lostMeanwhile = async (): Promise<void> => (count++ === 0 ? held() : lost());
    await expect(removeKey(repository, first, lostMeanwhile)).rejects.toThrow('the lock is gone');
    expect(repository.backend.names()).toHaveLength(2);
  });

  test('of a key file that the disk cannot read removes it', async () => {
    const repository = keyedRepository(new MemoryBackend());
    await repository.add('first');
    const damaged = await repository.add('second');
    let failedCount = 0;
    const read = repository.backend.read.bind(repository.backend);
    repository.backend.read = async (name) => {
      if (name !== keyName(damaged)) return read(name);
      failedCount += 1;
      throw new BackendError(`${name}: input/output error`, { kind: 'damaged' });
    };
    await removeKey(repository, damaged, held);
    expect(failedCount).toBeGreaterThan(0);
    expect(repository.backend.names()).toHaveLength(1);
  });
});

describe('a change of the password', () => {
  test('replaces what the old one opens, of each epoch, and keeps role and label', async () => {
    const repository = keyedRepository(new MemoryBackend());
    const next = createMasterKey(2);
    await repository.add('old', { label: 'mine' });
    await repository.add('old', { masterKey: next, role: 'backup' });
    await repository.add('other');
    const { opened } = await unlock(repository.backend, REPOSITORY_ID, Buffer.from('old'));
    const ids = await changePassword(repository, opened, { password: Buffer.from('new'), ...NEW }, held);
    expect(await opens(repository.backend, 'old')).toBe(false);
    const changed = await unlock(repository.backend, REPOSITORY_ID, Buffer.from('new'));
    expect(changed.masterKeys).toEqual([next, repository.masterKey]);
    expect(changed.opened.map(({ id, role, label }) => [id, role, label])).toEqual([
      [ids[0], 'backup', undefined],
      [ids[1], 'full', 'mine'],
    ]);
    expect(await opens(repository.backend, 'other')).toBe(true);
  });

  test('that fails or loses its power at any step leaves the old or the new password', async () => {
    const original = keyedRepository(new MemoryBackend());
    await original.add('old');
    const { opened } = await unlock(original.backend, REPOSITORY_ID, Buffer.from('old'));
    let step = 0;
    for (let hasFailed = true; hasFailed; step += 1) {
      const disk = new PowerCutBackend();
      keyedRepository(disk);
      for (const name of original.backend.names()) disk.poke(name, original.backend.peek(name)!);
      const backend = new FaultyBackend(disk);
      const guard = backend.guard.bind(backend);
      let count = 0;
      backend.guard = async (operation, name, action) => {
        if (count++ === step) throw new Error('the disk fails');
        return guard(operation, name, action);
      };
      const place = { backend, order: new DurableOrder(plainPlace(backend)), repositoryId: REPOSITORY_ID, epoch: 1 };
      const change = { password: Buffer.from('new'), ...NEW };
      hasFailed = await changePassword(place, opened, change, held).then(
        () => false,
        () => true,
      );
      for (const left of [disk, disk.cut()]) {
        expect((await opens(left, 'old')) || (await opens(left, 'new')), `step ${step}`).toBe(true);
      }
    }
    expect(step).toBeGreaterThan(6);
  });

  test('whose new key file cannot be opened keeps the old password', async () => {
    const repository = keyedRepository(new MemoryBackend());
    const { backend } = repository;
    await repository.add('old');
    const { opened } = await unlock(backend, REPOSITORY_ID, Buffer.from('old'));
    const rename = backend.rename.bind(backend);
    // From now on, the disk keeps something else than what is written.
    backend.rename = async (source, target) => {
      await rename(source, target);
      backend.poke(target, Buffer.from('something else'));
    };
    const failed = changePassword(repository, opened, { password: Buffer.from('new'), ...NEW }, held);
    await expect(failed).rejects.toThrow('cannot be opened; the old password remains valid');
    expect(await opens(backend, 'old')).toBe(true);
  });

  test.each([
    ['before the new key', 0, [true, false]],
    ['after it', 1, [true, false]],
    ['before the removal of the old one', 2, [true, true]],
    ['after that', 3, [true, true]],
  ] as const)('that loses the lock (%s) leaves the old password', async (_, heldCount, expected) => {
    const repository = keyedRepository(new MemoryBackend());
    await repository.add('old');
    const { opened } = await unlock(repository.backend, REPOSITORY_ID, Buffer.from('old'));
    let count = 0;
    const verify = async (): Promise<void> => (count++ < heldCount ? held() : lost());
    const failed = changePassword(repository, opened, { password: Buffer.from('new'), ...NEW }, verify);
    await expect(failed).rejects.toThrow('the lock is gone');
    expect([await opens(repository.backend, 'old'), await opens(repository.backend, 'new')]).toEqual(expected);
  });
});

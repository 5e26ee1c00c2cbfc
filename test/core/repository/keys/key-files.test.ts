import { describe, expect, test } from 'vitest';
import { createMasterKey } from '../../../../src/core/crypto/master-key.ts';
import {
  CancelledError,
  CorruptDataError,
  UnsupportedFormatError,
  WrongPasswordError,
} from '../../../../src/core/errors.ts';
import { encodeChecked } from '../../../../src/core/format/json-reader.ts';
import { keyName } from '../../../../src/core/format/layout.ts';
import { sha256 } from '../../../../src/core/crypto/sha256.ts';
import { listKeys, unlock } from '../../../../src/core/repository/keys/key-files.ts';
import type { Unlocked, UnlockOptions } from '../../../../src/core/repository/keys/key-files.ts';
import { createSignalHook } from '../../../support/signal-hook.ts';
import { MemoryBackend } from '../../../support/memory-backend.ts';
import { REPOSITORY_ID, keyedRepository } from './key-files-support.ts';

const repository = keyedRepository(new MemoryBackend());
const firstId = await repository.add('first', { label: 'mine' });
const secondId = await repository.add('second', { role: 'read', label: 'hers' });

async function unlockIn(backend: MemoryBackend, password: string, options?: UnlockOptions): Promise<Unlocked> {
  return await unlock(backend, REPOSITORY_ID, Buffer.from(password), options);
}

function copyWith(change: (backend: MemoryBackend) => void): MemoryBackend {
  const backend = repository.backend.copy();
  change(backend);
  return backend;
}

function flip(backend: MemoryBackend, id: string): void {
  const bytes = backend.peek(keyName(id))!;
  bytes[100]! ^= 1;
  backend.poke(keyName(id), bytes);
}

/** A key file that is valid in everything but what `members` say. */
function pokeForged(backend: MemoryBackend, id: string, members: Record<string, unknown>): string {
  const { checksum: _, ...original } = JSON.parse(backend.peek(keyName(id))!.toString()) as Record<string, unknown>;
  const bytes = encodeChecked({ ...original, ...members });
  backend.poke(keyName(sha256(bytes)), bytes);
  return sha256(bytes);
}

describe('a password', () => {
  test('opens its key file, whichever is tried first', async () => {
    for (const first of [undefined, firstId, secondId, 'ab'.repeat(32)]) {
      const unlocked = await unlockIn(repository.backend, 'first', { first });
      expect(unlocked).toMatchObject({ masterKeys: [repository.masterKey], keyId: firstId, role: 'full' });
      expect(unlocked.opened).toEqual([{ id: firstId, role: 'full', label: 'mine', masterKey: repository.masterKey }]);
      expect(await unlockIn(repository.backend, 'second', { first })).toMatchObject({ keyId: secondId, role: 'read' });
    }
  });

  test.each(['', 'First', 'first ', 'third'])('that is wrong (%j) opens nothing', async (password) => {
    const failed = unlockIn(repository.backend, password === '' ? ' ' : password);
    await expect(failed).rejects.toThrow(WrongPasswordError);
    await expect(failed).rejects.toThrow('wrong password: it opens none of the 2 keys of the repository');
    await expect(failed).rejects.toMatchObject({ code: 'WRONG_PASSWORD' });
  });

  test('is tried on one file only, if the right one is known', async () => {
    for (const [password, first] of [
      ['first', firstId],
      ['second', secondId],
    ] as const) {
      let tryCount = 0;
      const signal = createSignalHook(() => (tryCount += 1));
      expect((await unlockIn(repository.backend, password, { first, signal })).keyId).toBe(first);
      expect(tryCount).toBe(1);
    }
  });

  test('is tried on cheap files first, so that forged ones cannot cost time', async () => {
    const forged = copyWith((backend) => {
      const kdf = { algorithm: 'argon2id', memory_kib: 1024 * 1024, passes: 4, lanes: 1 };
      for (const digit of '0123456789') pokeForged(backend, firstId, { kdf, salt: digit.repeat(64) });
    });
    expect((await listKeys(forged, REPOSITORY_ID)).keys).toHaveLength(12);
    let tryCount = 0;
    const signal = createSignalHook(() => (tryCount += 1));
    expect((await unlockIn(forged, 'first', { signal })).keyId).toBe(firstId);
    expect(tryCount).toBeLessThan(3);
  });

  test('is tried on no further file once the wait is aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(unlockIn(repository.backend, 'first', { signal })).rejects.toThrow(CancelledError);
  });

  test('opens one key file of each epoch, and the newest comes first', async () => {
    const rotated = keyedRepository(new MemoryBackend());
    const next = createMasterKey(2);
    const ids = [
      await rotated.add('mine'),
      await rotated.add('mine'),
      await rotated.add('mine', { masterKey: next }),
      await rotated.add('other', { masterKey: next }),
    ];
    const unlocked = await unlockIn(rotated.backend, 'mine', { first: ids[1] });
    expect(unlocked.masterKeys).toEqual([next, rotated.masterKey]);
    expect(unlocked.keyId).toBe(ids[2]);
    expect(unlocked.opened.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
  });
});

describe('a key file that cannot be used', () => {
  test.each<[string, (backend: MemoryBackend) => void, string]>([
    ['is damaged', (backend) => flip(backend, secondId), secondId],
    [
      'has another name',
      (backend) => backend.poke(keyName('ab'.repeat(32)), backend.peek(keyName(secondId))!),
      'ab'.repeat(32),
    ],
    ['is huge', (backend) => backend.poke(keyName('ab'.repeat(32)), Buffer.alloc(65_537)), 'ab'.repeat(32)],
    ['is empty', (backend) => backend.poke(keyName('ab'.repeat(32)), Buffer.alloc(0)), 'ab'.repeat(32)],
  ])('because it %s is reported, and the others work', async (_, change, id) => {
    const backend = copyWith(change);
    const unusable: string[] = [];
    const onUnusable = (key: { readonly id: string }): void => void unusable.push(key.id);
    expect(await unlockIn(backend, 'first', { onUnusable })).toMatchObject({ keyId: firstId });
    expect(unusable).toEqual([id]);
    expect((await listKeys(backend, REPOSITORY_ID)).unusable.map((key) => key.id)).toEqual([id]);
    await expect(unlockIn(backend, 'wrong')).rejects.toThrow(/\(another 1 cannot be used\)$/);
  });

  test('because it belongs to another repository is reported, also if the password is right', async () => {
    const failed = unlock(repository.backend, 'ab'.repeat(32), Buffer.from('first'));
    await expect(failed).rejects.toThrow(CorruptDataError);
    await expect(failed).rejects.toThrow(`belongs to the repository ${REPOSITORY_ID}`);
    await expect(failed).rejects.toMatchObject({ advice: { code: 'import-key' } });
  });

  test('because it needs a newer program is an error only if there is no other', async () => {
    const backend = repository.backend.copy();
    pokeForged(backend, firstId, { format_version: 2 });
    expect(await unlockIn(backend, 'first')).toMatchObject({ keyId: firstId });
    for (const id of [firstId, secondId]) await backend.unlink(keyName(id));
    await expect(unlockIn(backend, 'first')).rejects.toThrow(UnsupportedFormatError);
  });

  test('of which nothing is left says what helps', async () => {
    const failed = unlockIn(keyedRepository(new MemoryBackend()).backend, 'first');
    await expect(failed).rejects.toThrow('the repository is encrypted, but keys/ has no key file');
    await expect(failed).rejects.toMatchObject({ advice: { code: 'list-or-import-key' } });
    await expect(unlockIn(new MemoryBackend(), 'first')).rejects.toThrow(CorruptDataError);
  });
});

// Whoever can write to the repository must not be able to give a password more than its owner got.
test.each<[string, Record<string, unknown>]>([
  ['role', { role: 'full' }],
  ['epoch', { key_epoch: 7 }],
  ['label', { label: 'other' }],
  ['user', { user: 'mallory' }],
  ['lanes', { kdf: { algorithm: 'argon2id', memory_kib: 8192, passes: 8, lanes: 2 } }],
])('a key file whose %s was changed does not open', async (_, members) => {
  const backend = repository.backend.copy();
  pokeForged(backend, secondId, members);
  await backend.unlink(keyName(secondId));
  await expect(unlockIn(backend, 'second')).rejects.toThrow(WrongPasswordError);
});

test('what stands behind the sealed key is not authenticated, and not read', async () => {
  const backend = keyedRepository(new MemoryBackend());
  const id = await backend.add('first');
  const forged = pokeForged(backend.backend, id, { label: 'other' });
  const { keys } = await listKeys(backend.backend, REPOSITORY_ID);
  expect(new Map(keys.map((key) => [key.id, key.label]))).toEqual(
    new Map([
      [forged, undefined],
      [id, undefined],
    ]),
  );
});

test('the list has what the files say openly, and nothing of the secret', async () => {
  const { keys } = await listKeys(repository.backend, REPOSITORY_ID);
  expect(keys.map(({ id }) => id).toSorted()).toEqual([firstId, secondId].toSorted());
  expect(keys.find(({ id }) => id === firstId)).toMatchObject({ label: 'mine', role: 'full', keyEpoch: 1 });
  expect(JSON.stringify(keys)).not.toContain('sealed');
});

test('a listing without any key is asked for once more', async () => {
  const backend = repository.backend.copy();
  const list = backend.list.bind(backend);
  let count = 0;
  backend.list = async (directory) => {
    count += 1;
    return count === 1 ? [] : await list(directory);
  };
  expect((await unlockIn(backend, 'first')).keyId).toBe(firstId);
});

test('other files in the directory are left alone', async () => {
  const backend = copyWith((copy) => copy.poke('keys/.DS_Store', Buffer.from('x')));
  expect((await listKeys(backend, REPOSITORY_ID)).unusable).toEqual([]);
});

import type { Verify } from '../../../../src/core/backend/backend.ts';
import type { FileSystemBackend } from '../../../../src/core/backend/file-system-backend.ts';
import { keepMasterKey } from '../../../../src/core/crypto/master-key.ts';
import { KeyRing } from '../../../../src/core/crypto/seals.ts';
import { RefusedError } from '../../../../src/core/errors.ts';
import { encodeConfig } from '../../../../src/core/format/config.ts';
import type { RepositoryConfig } from '../../../../src/core/format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../../../../src/core/format/layout.ts';
import { configSeals, openConfig } from '../../../../src/core/repository/config-file.ts';
import type { OpenedConfig } from '../../../../src/core/repository/config-file.ts';
import { DurableOrder } from '../../../../src/core/repository/durable-order.ts';
import { unlock } from '../../../../src/core/repository/keys/key-files.ts';
import { rotate } from '../../../../src/core/repository/keys/key-rotation.ts';
import type { Rotation } from '../../../../src/core/repository/keys/key-rotation.ts';
import { readSealedConfig } from '../../../../src/core/repository/sealed-config.ts';
import { Unlocker } from '../../../../src/core/repository/keys/unlocker.ts';
import { expect } from 'vitest';
import { MemoryBackend } from '../../../support/memory-backend.ts';
import { plainPlace } from '../../../support/plain-place.ts';
import { NEW, REPOSITORY_ID, keyedRepository } from './key-files-support.ts';
import type { KeyedRepository } from './key-files-support.ts';

export const CONFIG: RepositoryConfig = {
  formatVersion: 1,
  repositoryId: REPOSITORY_ID,
  created: '2026-01-02T03:04:05Z',
  chunker: { kind: 'fixed', sizeBytes: 4096 },
  chunkHash: 'sha1',
  packHash: 'blake3',
  idKey: 'ab'.repeat(32),
  ldm: { fprTarget: 0.01, hashes: 7, capacity: 1000 },
  compression: { algorithm: 'zstd', level: 2 },
  encryption: { chunkerKey: 'cd'.repeat(32), earlierKeys: [] },
};

export const held: Verify = async () => undefined;
export const lost: Verify = async () => Promise.reject(new RefusedError('the lock is gone'));

/** With the passwords `mine` and `hers`, and something that is sealed under the first master key. */
export const repository: KeyedRepository<MemoryBackend> = keyedRepository(new MemoryBackend());
export const firstRing: KeyRing = new KeyRing(REPOSITORY_ID, [
  keepMasterKey({ epoch: 1, bytes: Buffer.from(repository.masterKey.bytes) }),
]);
const sealedBefore = firstRing.seal('snapshots', Buffer.from('before'));
for (const name of [CONFIG_NAME, CONFIG_COPY_NAME])
  repository.backend.poke(name, encodeConfig(CONFIG, configSeals(firstRing)));
await repository.add('mine', { label: 'laptop' });
await repository.add('hers', { label: 'anna' });

const mine = new Unlocker(async (use) => use(Buffer.from('mine')), {});
const hers = new Unlocker(async (use) => use(Buffer.from('hers')), {});

export async function open(backend: MemoryBackend, password: string): Promise<OpenedConfig> {
  return await openConfig(backend, (password === 'mine' ? mine : hers).unlock);
}

export async function rotateIn(
  backend: FileSystemBackend,
  password = 'mine',
  verify: Verify = held,
): Promise<Rotation> {
  const config = await readSealedConfig(backend);
  const { opened } = await unlock(backend, REPOSITORY_ID, Buffer.from(password), { config });
  const { epoch } = config;
  const place = { backend, order: new DurableOrder(plainPlace(backend)), repositoryId: REPOSITORY_ID, epoch };
  return await rotate(place, opened[0]!, { password: Buffer.from(password), ...NEW }, verify);
}

/** Opens what was sealed before, and what this opening seals after `change`, which may rotate. */
export async function expectUsable(
  backend: MemoryBackend,
  change: () => Promise<unknown> = held,
): Promise<OpenedConfig> {
  const opened = await open(backend, 'mine');
  expect(opened.seals.open('snapshots', sealedBefore).toString()).toBe('before');
  const sealed = opened.seals.seal('snapshots', Buffer.from('meanwhile'));
  await change();
  const later = await open(backend, 'mine');
  expect(later.seals.open('snapshots', sealed).toString()).toBe('meanwhile');
  expect(later.config.idKey).toBe(CONFIG.idKey);
  expect(later.config.encryption?.chunkerKey).toBe(CONFIG.encryption?.chunkerKey);
  return later;
}

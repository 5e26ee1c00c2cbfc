import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { createMasterKey, keepMasterKey } from '../../src/core/crypto/master-key.ts';
import type { MasterKey } from '../../src/core/crypto/master-key.ts';
import { KeyRing } from '../../src/core/crypto/seals.ts';
import { encodeConfig } from '../../src/core/format/config.ts';
import type { RepositoryConfig } from '../../src/core/format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, DIRECTORIES } from '../../src/core/format/layout.ts';
import { configSeals } from '../../src/core/repository/config-file.ts';
import { DurableOrder } from '../../src/core/repository/durable-order.ts';
import { addKey } from '../../src/core/repository/keys/key-changes.ts';
import { plainPlace } from './plain-place.ts';
import { runLdmHere } from './run-ldm-here.ts';
import type { RunLdmOptions, RunLdmResult } from './run-ldm.ts';
import { memoryDirectory } from './temp-directory.ts';

/** The cheapest that is accepted. */
export const CHEAP = { memoryKib: 8192, passes: 8, lanes: 1 } as const;
export const PASSWORD = 'correct horse battery staple';

export interface EncryptedRepository {
  readonly directory: string;
  /** The path of the repository. */
  readonly place: string;
  readonly backend: LocalBackend;
  readonly repositoryId: string;
  readonly masterKey: MasterKey;
  /** The key of `PASSWORD`. */
  readonly keyId: string;
  /** Runs `ldm` with these environment variables; LDM_PASSWORD is `PASSWORD` unless they say otherwise. */
  readonly run: (args: readonly string[], options?: RunLdmOptions) => Promise<RunLdmResult>;
}

/** Makes a repository that has a configuration and a key and nothing else. */
export async function makeEncryptedRepository(directory: string = memoryDirectory()): Promise<EncryptedRepository> {
  const place = join(directory, 'repository');
  mkdirSync(place);
  const backend = new LocalBackend(place);
  await backend.prepare(DIRECTORIES);
  const repositoryId = randomBytes(32).toString('hex');
  const masterKey = createMasterKey(1);
  const order = new DurableOrder(plainPlace(backend));
  const config = encodeSealedConfig(repositoryId, masterKey);
  for (const name of [CONFIG_COPY_NAME, CONFIG_NAME]) await order.publishFile(name, config);
  const created = '2026-01-02T03:04:05Z';
  const password = Buffer.from(PASSWORD);
  const keyId = await addKey(order, { repositoryId, masterKey, password, role: 'full', created, kdf: CHEAP });
  const run = async (args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> =>
    runLdmHere(args, {
      cwd: directory,
      ...options,
      env: { LDM_REPOSITORY: place, LDM_PASSWORD: PASSWORD, ...options.env },
    });
  return { directory, place, backend, repositoryId, masterKey, keyId, run };
}

function encodeSealedConfig(repositoryId: string, { epoch, bytes }: MasterKey): Buffer {
  const seals = new KeyRing(repositoryId, [keepMasterKey({ epoch, bytes: Buffer.from(bytes) })]);
  const config: RepositoryConfig = {
    formatVersion: 1,
    repositoryId,
    created: '2026-01-02T03:04:05Z',
    chunker: { kind: 'fixed', sizeBytes: 4096 },
    chunkHash: 'sha1',
    packHash: 'blake3',
    idKey: 'ab'.repeat(32),
    ldm: { fprTarget: 0.01, hashes: 7, capacity: 1000 },
    compression: { algorithm: 'zstd', level: 2 },
    encryption: { chunkerKey: 'cd'.repeat(32), earlierKeys: [] },
  };
  return encodeConfig(config, configSeals(seals));
}

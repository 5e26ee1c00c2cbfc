import type { Backend } from '../backend/backend.ts';
import { repositoryExists } from '../backend/repository-exists.ts';
import { createMasterKey, deriveKey, keepMasterKey } from '../crypto/master-key.ts';
import type { KeptMasterKey, KeyLabel } from '../crypto/master-key.ts';
import { KeyRing, PLAIN } from '../crypto/seals.ts';
import type { Seals } from '../crypto/seals.ts';
import { createPackDigest } from '../crypto/pack-digest.ts';
import { BackendError, RefusedError } from '../errors.ts';
import type { FilterPlan } from '../ldm/formulas.ts';
import { FilterState } from '../ldm/filter-state.ts';
import { writeImage } from '../ldm/image-writer.ts';
import { LdmFilter } from '../ldm/ldm-filter.ts';
import { encodeConfig } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, DIRECTORIES, KEYS_DIRECTORY, checkpointName } from '../format/layout.ts';
import { openZstd } from '../workers/zstd.ts';
import { configSeals } from './config-file.ts';
import { DurableOrder } from './durable-order.ts';
import { addKey } from './key-changes.ts';
import { listOptional } from './listing.ts';
import { assertVacant } from './vacant-place.ts';

export { repositoryExists };

/** What a new repository begins with. */
export interface NewRepository {
  /** Ids and chunker of an encrypted repository get keys that are derived from its master key. */
  readonly config: RepositoryConfig;
  readonly plan: FilterPlan;
  /** The first password of an encrypted repository. */
  readonly password?: Uint8Array | undefined;
}

/**
 * Creates a repository in an empty place. The configuration is written last, and makes it a repository.
 * @throws RefusedError if the place is not empty
 * @throws InstallationError if this installation could not use the repository
 */
export async function createRepository(backend: Backend, given: NewRepository): Promise<void> {
  try {
    await create(backend, given);
  } catch (error) {
    if (!(error instanceof BackendError) || error.kind !== 'denied') throw error;
    // The usual hint names the owner of the repository, but there is no repository yet.
    const hint = 'Name a place where you may create files, or run ldm as a user who may do that there.';
    throw error.rephrase(error.message, hint);
  }
}

async function create(backend: Backend, { config, plan, password }: NewRepository): Promise<void> {
  if (await repositoryExists(backend)) {
    throw new RefusedError(`${backend.location} is already a repository`, {
      hint: 'It was not changed. Use it, or choose another place.',
    });
  }
  await assertVacant(backend);
  createPackDigest(config.packHash);
  openZstd();
  const isPlain = password === undefined;
  await backend.prepare(DIRECTORIES.filter((directory) => !isPlain || directory !== KEYS_DIRECTORY));
  // An earlier attempt may have been killed before there was a configuration. Its key opens nothing of this one.
  const leftovers = [...(await listOptional(backend, KEYS_DIRECTORY)), ...(await listOptional(backend, 'filter'))];
  await new DurableOrder({ backend, seals: PLAIN }).remove(leftovers.map(({ name }) => name));
  const setUp = isPlain ? { config, seals: PLAIN } : await setUpEncryption(backend, config, password);
  const order = new DurableOrder({ backend, seals: setUp.seals });
  await order.keepReserve();
  // With a checkpoint from the start, "no snapshot was ever made" differs from "every manifest was lost".
  const empty = new FilterState(new LdmFilter(plan));
  await order.publishCheckpoint(checkpointName(1), async (append) => writeImage(empty, append));
  const bytes = encodeConfig(setUp.config, configSeals(setUp.seals));
  await order.publishFile(CONFIG_COPY_NAME, bytes);
  await order.publishFile(CONFIG_NAME, bytes);
}

/** Creates the master key, and the file that has it sealed under the password. */
async function setUpEncryption(
  backend: Backend,
  config: RepositoryConfig,
  password: Uint8Array,
): Promise<{ readonly config: RepositoryConfig; readonly seals: Seals }> {
  const { repositoryId, created } = config;
  const order = new DurableOrder({ backend, seals: PLAIN });
  const masterKey = createMasterKey(1);
  await addKey(order, { repositoryId, masterKey, password, role: 'full', created });
  const kept = keepMasterKey(masterKey);
  const idKey = hexKeyOf(kept, repositoryId, 'data ids');
  const encryption = { chunkerKey: hexKeyOf(kept, repositoryId, 'chunker'), earlierKeys: [] };
  return { config: { ...config, idKey, encryption }, seals: new KeyRing(repositoryId, [kept]) };
}

function hexKeyOf(masterKey: KeptMasterKey, repositoryId: string, label: KeyLabel): string {
  const key = deriveKey(masterKey, Buffer.from(repositoryId, 'hex'), label);
  const hex = key.toString('hex');
  key.fill(0);
  return hex;
}

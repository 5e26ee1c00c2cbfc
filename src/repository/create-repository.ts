import type { Backend } from '../backend/backend.ts';
import { repositoryExists } from '../backend/repository-exists.ts';
import { createPackDigest } from '../crypto/pack-digest.ts';
import { BackendError, RefusedError } from '../errors.ts';
import type { FilterPlan } from '../ldm/formulas.ts';
import { FilterState } from '../ldm/filter-state.ts';
import { writeImage } from '../ldm/image-writer.ts';
import { LdmFilter } from '../ldm/ldm-filter.ts';
import { encodeConfig } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, DIRECTORIES, checkpointName } from '../format/layout.ts';
import { openZstd } from '../workers/zstd.ts';
import { DurableOrder } from './durable-order.ts';
import { assertVacant } from './vacant-place.ts';

export { repositoryExists };

/**
 * Creates a repository in an empty place. The configuration is written last, and makes it a repository.
 * @throws RefusedError if the place is not empty
 * @throws InstallationError if this installation could not use the repository
 */
export async function createRepository(backend: Backend, config: RepositoryConfig, plan: FilterPlan): Promise<void> {
  try {
    await create(backend, config, plan);
  } catch (error) {
    if (!(error instanceof BackendError) || error.kind !== 'denied') throw error;
    // The usual hint names the owner of the repository, but there is no repository yet.
    const hint = 'Name a place where you may create files, or run ldm as a user who may do that there.';
    throw error.rephrase(error.message, hint);
  }
}

async function create(backend: Backend, config: RepositoryConfig, plan: FilterPlan): Promise<void> {
  if (await repositoryExists(backend)) {
    throw new RefusedError(`${backend.location} is already a repository`, {
      hint: 'It was not changed. Use it, or choose another place.',
    });
  }
  await assertVacant(backend);
  createPackDigest(config.packHash);
  openZstd();
  await backend.prepare(DIRECTORIES);
  const order = new DurableOrder(backend);
  await order.keepReserve();
  // With a checkpoint from the start, "no snapshot was ever made" differs from "every manifest was lost".
  const empty = new FilterState(new LdmFilter(plan));
  await order.publishStream(checkpointName(1), async (append) => writeImage(empty, append));
  const bytes = encodeConfig(config);
  await order.publishFile(CONFIG_COPY_NAME, bytes);
  await order.publishFile(CONFIG_NAME, bytes);
}

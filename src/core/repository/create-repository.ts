import { randomBytes } from 'node:crypto';
import type { Backend, NextReads, StagedFile, Verify } from '../backend/backend.ts';
import { repositoryExists } from '../backend/repository-exists.ts';
import { createPackDigest } from '../crypto/pack-digest.ts';
import { BackendError, RefusedError, isAbsent, isDiskFull } from '../errors.ts';
import type { FilterPlan } from '../ldm/formulas.ts';
import { FilterState } from '../ldm/filter-state.ts';
import { writeImage } from '../ldm/image-writer.ts';
import { LdmFilter } from '../ldm/ldm-filter.ts';
import { encodeConfig, kindOf } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { CopyRules } from '../format/group-list.ts';
import { checkpointName } from '../format/checkpoint-name.ts';
import {
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  KEYS_DIRECTORY,
  RESERVE_BYTES,
  RESERVE_NAME,
  directoriesOf,
  keyName,
} from '../format/layout.ts';
import { bothOf, mapConcurrently } from '../util/map-concurrently.ts';
import { openZstd } from '../workers/zstd.ts';
import { acquireLock } from './access.ts';
import type { AccessOptions } from './access.ts';
import { configSeals } from './config-file.ts';
import { DurableOrder } from './durable-order.ts';
import { createFirstKey } from './keys/first-key.ts';
import type { FirstKey, SharedKeys } from './keys/first-key.ts';
import { unlessDenied } from './locks/lock-conflict.ts';
import type { RepositoryLock } from './locks/lock.ts';
import type { NewGroup } from './groups/group-changes.ts';
import { placePacks } from './groups/place-packs.ts';
import { orDiscard, prepareFile } from './staging.ts';
import type { Holding } from './staging.ts';
import { findLeftovers } from './vacant-place.ts';
import type { Leftovers } from './vacant-place.ts';
import { typeablePassword } from './keys/password-forms.ts';

export { repositoryExists };

/** What a new repository begins with. */
interface NewRepository {
  /** Ids and chunker of an encrypted repository get keys that are derived from its master key, unless it shares them. */
  readonly config: RepositoryConfig;
  readonly sharedKeys?: SharedKeys | undefined;
  readonly plan: FilterPlan;
  /** Where its packs are, if the configuration has groups. */
  readonly groups?: readonly NewGroup[] | undefined;
  readonly copyRules?: CopyRules | undefined;
  /** The first password of an encrypted repository. */
  readonly password?: Uint8Array | undefined;
}

/**
 * Creates a repository in a place that was found to be empty. The configuration is written last, and makes it a
 * repository. Of several processes that create one at the same place, only one does. Returns the id of the key file, if it
 * is encrypted.
 * @throws RefusedError if another process has created a repository there
 * @throws NoPasswordError if the password cannot be typed
 * @throws InstallationError if this installation could not use the repository
 */
export async function createRepository(
  access: Omit<AccessOptions, 'mode'>,
  given: NewRepository,
): Promise<string | undefined> {
  try {
    return await create(access, given);
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    if (error.kind === 'exists') {
      throw new RefusedError(`another process is creating a repository at ${access.backend.location}`, {
        hint: 'Run the command again.',
        cause: error,
      });
    }
    if (error.kind !== 'denied') throw error;
    // The usual hint names the owner of the repository, but there is no repository yet.
    const hint = 'Name a place where you may create files, or run ldm as a user who may do that there.';
    throw error.rephrase(error.message, hint);
  }
}

async function create(access: Omit<AccessOptions, 'mode'>, given: NewRepository): Promise<string | undefined> {
  const { backend } = access;
  const password = given.password && typeablePassword(given.password);
  createPackDigest(given.config.packHash);
  openZstd();
  const { config } = given;
  // Meanwhile, the password is hashed.
  const setUp = createFirstKey(given, password);
  setUp.catch(() => undefined);
  const kind = { ...kindOf(config), isEncrypted: password !== undefined };
  const preparing = backend.prepare(directoriesOf(kind), config.isSingleWriter);
  preparing.catch(() => undefined);
  try {
    // On another machine, both are one wait.
    if (backend.readsAtOnce === 1) await preparing;
    const acquire = async (): Promise<RepositoryLock> => acquireLock({ ...access, nextReads: NEXT_READS }, 'exclusive');
    const lock = await acquire().catch(async (error: unknown) => {
      // There are no directories yet if those above had to be created first.
      if (!isAbsent(error)) throw error;
      await preparing;
      return await acquire();
    });
    // Nothing is written in a place that cannot be used.
    const verify: Verify = async () => void (await bothOf(preparing, lock.assertHeld()));
    try {
      await fill(access, { ...given, setUp }, verify);
      return (await setUp).key?.id;
    } finally {
      await Promise.allSettled([setUp, preparing]);
      // The lock of a process that ends does not block others.
      await lock.release().catch(() => undefined);
    }
  } catch (error) {
    // If the place cannot be used, this is the reason for any other failure.
    await preparing;
    throw error;
  }
}

/** What is read as soon as there is a lock. */
const NEXT_READS: NextReads = { directories: [KEYS_DIRECTORY, 'filter'], newFiles: 5 };

/**
 * `verify` throws if another process has taken the lock over, and creates a repository too. Until one of them has
 * published its configuration, which only one can, neither removes what the other may need.
 */
async function fill(
  { backend, openPlace }: Pick<AccessOptions, 'backend' | 'openPlace'>,
  {
    plan,
    setUp,
    groups,
    copyRules,
  }: Pick<NewRepository, 'plan' | 'groups' | 'copyRules'> & { setUp: Promise<FirstKey> },
  verify: Verify,
): Promise<void> {
  const leftovers = await findLeftovers(backend);
  const { config, seals, key } = await setUp;
  const order = new DurableOrder({ backend, seals });
  // For the checkpoint, which the first backup reads.
  backend.useCache?.(config);
  if (leftovers.hasCopy) await order.remove([CONFIG_COPY_NAME], verify);
  const bytes = encodeConfig(config, configSeals(seals));
  const file = await writeAllElse({ backend, order }, { bytes, key, plan, hasReserve: leftovers.hasReserve }, verify);
  if (groups !== undefined) {
    const { GroupChanges } = await import('./groups/group-changes.ts');
    const { repositoryId, isSingleWriter } = config;
    const changes = new GroupChanges({ backend, repositoryId, seals, isSingleWriter, verify, openPlace });
    await orDiscard(file, async () => changes.create(groups, copyRules));
  }
  // Otherwise, on another machine, the lock was looked at right before: after each of the names.
  const before = groups !== undefined || !order.isFar ? verify : async (): Promise<void> => undefined;
  await publishConfig({ backend, order }, { bytes, file, before });
  // The repository is there. An append-only server keeps them.
  await order.remove(leftovers.names).catch(unlessDenied);
  if (groups === undefined) return;
  const placed = await placePacks(backend, { ...config, seals }, { openPlace });
  try {
    await placed.groups?.copyMetadata?.(verify);
  } finally {
    await placed.closePlaced();
  }
}

/**
 * Writes all but the configuration, in any order: without it, there is no repository. Returns the configuration under a
 * temporary name.
 */
async function writeAllElse(
  { backend, order }: { readonly backend: Backend; readonly order: DurableOrder },
  {
    bytes,
    key,
    plan,
    hasReserve,
  }: Pick<FirstKey & Leftovers, 'key' | 'hasReserve'> & { readonly bytes: Uint8Array; readonly plan: FilterPlan },
  verify: Verify,
): Promise<StagedFile> {
  const publish = async (name: string, content: Uint8Array, holding?: Partial<Holding>): Promise<void> =>
    order.publishHeld(name, await prepareFile(backend, content), { verify, ...holding });
  // With a checkpoint from the start, "no snapshot was ever made" differs from "every manifest was lost".
  const empty = new FilterState(new LdmFilter(plan));
  let config: StagedFile | undefined;
  const steps = [
    async () => key && publish(keyName(key.id), key.bytes),
    // Another process may have its own under the names that stay. An append-only server lets no reserve be replaced.
    async () => hasReserve || publish(RESERVE_NAME, randomBytes(RESERVE_BYTES), { stays: true }).catch(unlessFull),
    async () => order.publishCheckpoint(checkpointName(1), async (append) => writeImage(empty, append), verify),
    async () => publish(CONFIG_COPY_NAME, bytes, { stays: true, isNew: true }),
    async () => (config = await prepareFile(backend, bytes)),
  ];
  try {
    await mapConcurrently(steps, backend.readsAtOnce, async (step) => step());
    return config!;
  } catch (error) {
    await config?.discard();
    throw error;
  }
}

function unlessFull(error: unknown): void {
  if (!isDiskFull(error)) throw error;
}

/** Makes it a repository. `file`: the configuration; `before`: verifies that the lock is still held. */
async function publishConfig(
  { backend, order }: { readonly backend: Backend; readonly order: DurableOrder },
  { bytes, file, before }: { readonly bytes: Uint8Array; readonly file: StagedFile; readonly before: Verify },
): Promise<void> {
  // This process may have been suspended after `before`, and another one may have replaced the copy.
  let hasCopy = false;
  const look: Verify = async () => {
    hasCopy = Buffer.compare(await backend.read(CONFIG_COPY_NAME).catch(emptyIfAbsent), bytes) === 0;
  };
  const holding = { before, verify: look, isNew: true, stays: true };
  await order.publishHeld(CONFIG_NAME, file, holding).catch(async (error: unknown) => {
    await giveWay(order, backend, bytes).catch(() => undefined);
    throw error;
  });
  if (!hasCopy) await order.publishFile(CONFIG_COPY_NAME, bytes);
}

function emptyIfAbsent(error: unknown): Uint8Array {
  if (!isAbsent(error)) throw error;
  return Buffer.alloc(0);
}

/** Another process has created the repository. If our copy of the configuration is in the place of its own, it goes. */
async function giveWay(order: DurableOrder, backend: Backend, bytes: Uint8Array): Promise<void> {
  const config = await backend.read(CONFIG_NAME);
  const copy = await backend.read(CONFIG_COPY_NAME);
  if (Buffer.compare(copy, bytes) === 0) await order.publishFile(CONFIG_COPY_NAME, config);
}

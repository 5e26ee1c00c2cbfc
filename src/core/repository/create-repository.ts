import type { Backend, Verify } from '../backend/backend.ts';
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
import { encodeConfig, kindOf } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { CopyRules } from '../format/group-list.ts';
import { checkpointName } from '../format/checkpoint-name.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, directoriesOf, KEYS_DIRECTORY } from '../format/layout.ts';
import { bothOf, mapConcurrently } from '../util/map-concurrently.ts';
import { openZstd } from '../workers/zstd.ts';
import { acquireLock } from './access.ts';
import type { AccessOptions } from './access.ts';
import { configSeals } from './config-file.ts';
import { DurableOrder } from './durable-order.ts';
import { addKey } from './keys/key-changes.ts';
import type { NewGroup } from './groups/group-changes.ts';
import { listOptional } from './own-listing.ts';
import { placePacks } from './groups/place-packs.ts';
import { assertVacant } from './vacant-place.ts';
import { typeablePassword } from './keys/password-forms.ts';

export { repositoryExists };

/** What a new repository begins with. */
interface NewRepository {
  /** Ids and chunker of an encrypted repository get keys that are derived from its master key, unless it shares them. */
  readonly config: RepositoryConfig;
  /** The keys of another repository, in hex, for one that is to have the same chunks. A plain one has no key of its chunker. */
  readonly sharedKeys?: { readonly idKey: string; readonly chunkerKey: string | undefined } | undefined;
  readonly plan: FilterPlan;
  /** Where its packs are, if the configuration has groups. */
  readonly groups?: readonly NewGroup[] | undefined;
  readonly copyRules?: CopyRules | undefined;
  /** The first password of an encrypted repository. */
  readonly password?: Uint8Array | undefined;
}

/**
 * Creates a repository in an empty place. The configuration is written last, and makes it a repository. Of several
 * processes that create one at the same place, only one does. Returns the id of the key file, if it is encrypted.
 * @throws RefusedError if the place is not empty
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

/**
 * `known`: files that may be there nevertheless.
 * @throws RefusedError if there is a repository, or something else
 */
export async function assertNoRepository(backend: Backend, known?: ReadonlySet<string>): Promise<void> {
  const look = async (): Promise<void> => assertVacant(backend, known);
  // On another machine, both are asked for at once. Nothing is running when this returns.
  const looking = backend.readsAtOnce > 1 ? look() : undefined;
  const [exists] = await Promise.allSettled([repositoryExists(backend), looking]);
  if (exists.status === 'rejected') throw exists.reason;
  if (exists.value) {
    throw new RefusedError(`${backend.location} is already a repository`, {
      hint: 'It was not changed. Use it, or choose another place.',
    });
  }
  await (looking ?? look());
}

async function create(access: Omit<AccessOptions, 'mode'>, given: NewRepository): Promise<string | undefined> {
  const { backend } = access;
  await assertNoRepository(backend);
  const password = given.password && typeablePassword(given.password);
  createPackDigest(given.config.packHash);
  openZstd();
  const kind = { ...kindOf(given.config), isEncrypted: given.password !== undefined };
  await backend.prepare(directoriesOf(kind), given.config.isSingleWriter);
  const lock = await acquireLock(access, 'exclusive');
  try {
    // While this process waited for the lock, another one may have created a repository.
    await assertNoRepository(backend);
    return await fill(access, { ...given, password }, async () => lock.assertHeld());
  } finally {
    // The lock of a process that ends does not block others.
    await lock.release().catch(() => undefined);
  }
}

/**
 * `verify` throws if another process has taken the lock over, and creates a repository too. Until one of them has
 * published its configuration, which only one can, neither removes what the other may need.
 */
async function fill(
  { backend, openPlace }: Pick<AccessOptions, 'backend' | 'openPlace'>,
  { config, plan, password, sharedKeys, groups, copyRules }: NewRepository,
  verify: Verify,
): Promise<string | undefined> {
  // An earlier attempt may have been killed before there was a configuration. Its key opens nothing of this one.
  const leftovers = (await bothOf(listOptional(backend, KEYS_DIRECTORY), listOptional(backend, 'filter'))).flat();
  const plain = new DurableOrder({ backend, seals: PLAIN });
  await plain.remove([CONFIG_COPY_NAME], verify);
  const setUp =
    password === undefined
      ? { config, seals: PLAIN, keyId: undefined }
      : await setUpEncryption(plain, { config, password, sharedKeys, verify });
  const order = new DurableOrder({ backend, seals: setUp.seals });
  // For the checkpoint, which the first backup reads.
  backend.useCache?.(setUp.config);
  // With a checkpoint from the start, "no snapshot was ever made" differs from "every manifest was lost".
  const empty = new FilterState(new LdmFilter(plan));
  const steps = [
    async () => order.keepReserve(),
    async () => order.publishCheckpoint(checkpointName(1), async (append) => writeImage(empty, append), verify),
  ];
  await mapConcurrently(steps, backend.readsAtOnce, async (step) => step());
  if (groups !== undefined) {
    const { GroupChanges } = await import('./groups/group-changes.ts');
    const { repositoryId, isSingleWriter } = setUp.config;
    const { seals } = setUp;
    await new GroupChanges({ backend, repositoryId, seals, isSingleWriter, verify, openPlace }).create(
      groups,
      copyRules,
    );
  }
  const bytes = encodeConfig(setUp.config, configSeals(setUp.seals));
  await order.publishNew(CONFIG_COPY_NAME, bytes, verify);
  await order.publishNew(CONFIG_NAME, bytes, verify).catch(async (error: unknown) => {
    await giveWay(order, backend, bytes).catch(() => undefined);
    throw error;
  });
  // This process may have been suspended after `verify`, and the other one may have replaced the copy.
  const isOurs = async (): Promise<boolean> => Buffer.compare(await backend.read(CONFIG_COPY_NAME), bytes) === 0;
  if ((await backend.sizeOf(CONFIG_COPY_NAME)) === undefined || !(await isOurs()))
    await order.publishFile(CONFIG_COPY_NAME, bytes);
  await order.remove(leftovers.map(({ name }) => name));
  if (groups === undefined) return setUp.keyId;
  const placed = await placePacks(backend, { ...setUp.config, seals: setUp.seals }, { openPlace });
  try {
    await placed.groups?.copyMetadata?.(verify);
  } finally {
    await placed.closePlaced();
  }
  return setUp.keyId;
}

/** Another process has created the repository. If our copy of the configuration is in the place of its own, it goes. */
async function giveWay(order: DurableOrder, backend: Backend, bytes: Uint8Array): Promise<void> {
  const config = await backend.read(CONFIG_NAME);
  const copy = await backend.read(CONFIG_COPY_NAME);
  if (Buffer.compare(copy, bytes) === 0) await order.publishFile(CONFIG_COPY_NAME, config);
}

/** Creates the master key, and the file that has it sealed under the password. */
async function setUpEncryption(
  order: DurableOrder,
  given: Pick<NewRepository, 'config' | 'sharedKeys'> & { readonly password: Uint8Array; readonly verify: Verify },
): Promise<{ readonly config: RepositoryConfig; readonly seals: Seals; readonly keyId: string }> {
  const { config, password, sharedKeys, verify } = given;
  const { repositoryId, created } = config;
  const masterKey = createMasterKey(1);
  const keyId = await addKey(order, { repositoryId, masterKey, password, role: 'full', created }, verify);
  const kept = keepMasterKey(masterKey);
  const idKey = sharedKeys?.idKey ?? hexKeyOf(kept, repositoryId, 'data ids');
  const chunkerKey = sharedKeys?.chunkerKey ?? hexKeyOf(kept, repositoryId, 'chunker');
  const encryption = { chunkerKey, earlierKeys: [] };
  return { config: { ...config, idKey, encryption }, seals: new KeyRing(repositoryId, [kept]), keyId };
}

function hexKeyOf(masterKey: KeptMasterKey, repositoryId: string, label: KeyLabel): string {
  const key = deriveKey(masterKey, Buffer.from(repositoryId, 'hex'), label);
  const hex = key.toString('hex');
  key.fill(0);
  return hex;
}

import type { Verify } from '../../backend/backend.ts';
import { createMasterKey, keepMasterKey } from '../../crypto/master-key.ts';
import type { MasterKey } from '../../crypto/master-key.ts';
import { KeyRing } from '../../crypto/seals.ts';
import { CorruptDataError, RefusedError } from '../../errors.ts';
import { encodeConfig } from '../../format/config.ts';
import type { RepositoryConfig } from '../../format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, KEYS_DIRECTORY, baseName, keyName } from '../../format/layout.ts';
import { MAX_KEY_EPOCH } from '../../format/constants.ts';
import type { ConfigProblem } from '../config-copies.ts';
import { configSeals, inspectConfig } from '../config-file.ts';
import { addKey } from './key-changes.ts';
import type { KeyPlace, NewKey } from './key-changes.ts';
import { findKeysOfPassword, listKeys, newestEpochOf } from './key-files.ts';
import type { ListedKey, OpenedKey } from './key-files.ts';
import { listOptional } from '../own-listing.ts';

/** The new master key, and the key files that were removed. */
export interface Rotation {
  readonly epoch: number;
  /** The only key file that is left. */
  readonly keyId: string;
  /** The old key file of the same password is among them. */
  readonly removed: readonly ListedKey[];
  /** Ids of removed key files that could not be read. */
  readonly removedUnusable: readonly string[];
}

/** How many epochs that other key files claim are skipped. */
const SKIPPED_EPOCHS_MAX = 16;

type Given = Pick<NewKey, 'password' | 'created' | 'kdf'>;

/**
 * Makes a new master key, and seals it under the password that has opened the current one. The caller holds the
 * exclusive lock, which `verify` checks. Each step is durable before the next one:
 *
 * 1. a new key file, which opens nothing yet. It is opened to prove that it works.
 * 2. `config.bak`, and then `config`, sealed under the new master key. They contain all earlier ones.
 * 3. All other key files are removed.
 *
 * Until `config.bak` is replaced, the new key file is not needed; from then on it is, and exists. While the two copies
 * differ, the newer one counts, and everything is sealed under a key that both contain (`openConfig`).
 * @throws RefusedError if a copy of the configuration is damaged, or there was a rotation too many
 */
export async function rotate(place: KeyPlace, current: OpenedKey, given: Given, verify: Verify): Promise<Rotation> {
  const { backend, order, repositoryId } = place;
  const { config, damaged } = await completeCopies(place, [current.masterKey], verify);
  if (damaged !== undefined)
    throw new RefusedError(`the master key was not rotated: ${damaged.message}`, {
      advice: { code: 'repair-and-repeat' },
    });
  if (config.encryption === undefined) throw new RefusedError('the repository is not encrypted');
  const masterKey = createMasterKey(await nextEpoch(place, current, given.password));
  try {
    const { epoch } = masterKey;
    const oldKey = { epoch: current.masterKey.epoch, key: Buffer.from(current.masterKey.bytes).toString('hex') };
    const earlierKeys = [...config.encryption.earlierKeys, oldKey];
    const ring = new KeyRing(repositoryId, [keepMasterKey({ epoch, bytes: Buffer.from(masterKey.bytes) })]);
    // Encoded before anything is written: it fails if there are too many earlier keys for it.
    const bytes = encodeConfig({ ...config, encryption: { ...config.encryption, earlierKeys } }, configSeals(ring));
    const { label } = current;
    const keyId = await addKey(order, { ...given, repositoryId, masterKey, role: 'full', label }, verify);
    const proof = { repositoryId, password: given.password, masterKey, only: [keyId] };
    if ((await findKeysOfPassword(backend, proof)).length === 0) {
      throw new CorruptDataError(`the new key ${keyId.slice(0, 8)} cannot be opened; the master key was not rotated`);
    }
    await replaceConfig(place, bytes, verify);
    return { epoch, keyId, ...(await removeOtherKeys(place, keyId, verify)) };
  } finally {
    masterKey.bytes.fill(0);
  }
}

/**
 * After a rotation that died between the two copies of the configuration, replaces the older copy. Before any key changes:
 * if the newer copy were lost later, the older one would be opened by the passwords of before the rotation, and not by new
 * ones. Returns what is wrong with a copy that is not merely older; such a copy stays as it is.
 */
export async function completeCopies(
  { backend, order }: KeyPlace,
  masterKeys: readonly MasterKey[],
  verify: Verify,
): Promise<{ readonly config: RepositoryConfig; readonly damaged: ConfigProblem | undefined }> {
  const kept = masterKeys.map(({ epoch, bytes }) => keepMasterKey({ epoch, bytes: Buffer.from(bytes) }));
  const { config, problems } = await inspectConfig(backend, kept);
  for (const { name } of problems.filter(({ isOutdated }) => isOutdated === true)) {
    const newer = name === CONFIG_NAME ? CONFIG_COPY_NAME : CONFIG_NAME;
    const bytes = await backend.read(newer);
    await order.publishFile(name, bytes, verify);
    await takeOtherIfLost({ backend, order }, { name, bytes, other: newer }, verify);
  }
  return { config, damaged: problems.find(({ isOutdated }) => isOutdated !== true) };
}

/**
 * After one copy was replaced: this process may have been suspended before the rename, and lost its lock. Another rotation
 * may have replaced both copies meanwhile, and removed the key file that this one needs.
 */
async function takeOtherIfLost(
  { backend, order }: Pick<KeyPlace, 'backend' | 'order'>,
  { name, bytes, other }: { readonly name: string; readonly bytes: Uint8Array; readonly other: string },
  verify: Verify,
): Promise<void> {
  try {
    await verify();
  } catch (error) {
    const now = await backend.read(other);
    if (Buffer.compare(now, bytes) !== 0) await order.publishFile(name, now);
    throw error;
  }
}

/**
 * Above the epoch of the configuration, and above those that the same password opens: a rotation that was interrupted may
 * have left them. It may have left one of another password too: with a key of the epoch of the configuration that does not
 * open it, that password would look like damage. So epochs that key files claim are skipped, but only a few, as what they
 * claim is not proven: one forged file could use up all epochs.
 */
async function nextEpoch(
  { backend, repositoryId }: KeyPlace,
  current: OpenedKey,
  password: Uint8Array,
): Promise<number> {
  const { epoch: above } = current.masterKey;
  const first = 1 + ((await newestEpochOf(backend, { repositoryId, password, above })) ?? above);
  const claimed = new Set((await listKeys(backend, repositoryId)).keys.map(({ keyEpoch }) => keyEpoch));
  const candidates = Array.from({ length: SKIPPED_EPOCHS_MAX + 1 }, (_, skipped) => first + skipped);
  const epoch = candidates.find((each) => each <= MAX_KEY_EPOCH && !claimed.has(each)) ?? first;
  if (epoch <= MAX_KEY_EPOCH) return epoch;
  throw new RefusedError(`there can be no master key after epoch ${MAX_KEY_EPOCH}`, { advice: { code: 'list-keys' } });
}

async function replaceConfig({ backend, order }: KeyPlace, bytes: Uint8Array, verify: Verify): Promise<void> {
  await order.publishFile(CONFIG_COPY_NAME, bytes, verify);
  try {
    await verify();
  } catch (error) {
    // This process was suspended before the rename, and the lock was taken over: others may have changed the passwords.
    const config = await backend.read(CONFIG_NAME);
    if (Buffer.compare(await backend.read(CONFIG_COPY_NAME), bytes) === 0) {
      await order.publishFile(CONFIG_COPY_NAME, config);
    }
    throw error;
  }
  await order.publishFile(CONFIG_NAME, bytes, verify);
  await takeOtherIfLost({ backend, order }, { name: CONFIG_NAME, bytes, other: CONFIG_COPY_NAME }, verify);
}

/** Everything that could still open an earlier master key. */
async function removeOtherKeys(
  { backend, order, repositoryId }: KeyPlace,
  keyId: string,
  verify: Verify,
): Promise<Pick<Rotation, 'removed' | 'removedUnusable'>> {
  const { keys, unusable } = await listKeys(backend, repositoryId);
  const files = (await listOptional(backend, KEYS_DIRECTORY)).map(({ name }) => baseName(name));
  const ids = files.filter((id) => id !== keyId);
  await order.remove(ids.map(keyName), verify);
  return {
    removed: keys.filter(({ id }) => ids.includes(id)),
    removedUnusable: unusable.map(({ id }) => id).filter((id) => ids.includes(id)),
  };
}

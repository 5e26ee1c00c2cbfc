import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { Backend, Verify } from '../../backend/backend.ts';
import { hashPassword, newKdfParameters } from '../../crypto/argon2.ts';
import type { KdfParameters } from '../../crypto/argon2.ts';
import type { MasterKey } from '../../crypto/master-key.ts';
import { formsOf } from './password-forms.ts';
import { sealKey } from '../../crypto/sealed-key.ts';
import { sha256 } from '../../crypto/sha256.ts';
import { CorruptDataError, RefusedError, isDamage } from '../../errors.ts';
import { KEY_SALT_BYTES, MAX_KEY_TEXT_LENGTH } from '../../format/constants.ts';
import { associatedDataOf, encodeKeyFile } from '../../format/key-file.ts';
import type { KeyHeader, KeyRole } from '../../format/key-file.ts';
import { keyName } from '../../format/layout.ts';
import type { DurableOrder } from '../durable-order.ts';
import { findKeysOfPassword, listKeys } from './key-files.ts';
import type { OpenedKey } from './key-files.ts';

/** The repository whose keys change. */
export interface KeyPlace {
  readonly backend: Backend;
  readonly order: DurableOrder;
  readonly repositoryId: string;
  /** Epoch of the master key that opens the configuration. */
  readonly epoch: number;
}

export interface NewKey {
  readonly repositoryId: string;
  readonly masterKey: MasterKey;
  readonly password: Uint8Array;
  readonly role: KeyRole;
  readonly label?: string | undefined;
  /** RFC 3339, UTC. */
  readonly created: string;
  /** Default: what fits this machine. */
  readonly kdf?: KdfParameters | undefined;
}

/**
 * Refuses a password that is in use. With two key files for one password, changing or removing one would leave the
 * password valid, and the user would not know.
 * @throws RefusedError if the password opens a key already
 */
export async function assertNewPassword(
  backend: Backend,
  key: Pick<NewKey, 'repositoryId' | 'masterKey' | 'password'> & { readonly signal: AbortSignal | undefined },
): Promise<void> {
  for (const password of formsOf(key.password)) {
    const [id] = await findKeysOfPassword(backend, { ...key, password });
    if (id === undefined) continue;
    throw new RefusedError(`the new password is already in use by the key ${id.slice(0, 8)}; nothing was changed`, {
      hint: 'Choose another password.',
    });
  }
}

/** Seals the master key under a password. Returns a key file, which is not stored yet. */
export async function sealNewKey(key: NewKey): Promise<{ readonly id: string; readonly bytes: Uint8Array }> {
  const { kdf = newKdfParameters(), repositoryId, masterKey, role, created, label } = key;
  const salt = randomBytes(KEY_SALT_BYTES);
  const header: KeyHeader = {
    formatVersion: 1,
    repositoryId,
    keyEpoch: masterKey.epoch,
    role,
    created,
    host: hostname().slice(0, MAX_KEY_TEXT_LENGTH),
    user: userName().slice(0, MAX_KEY_TEXT_LENGTH),
    ...(label === undefined ? {} : { label }),
    kdf,
    salt: salt.toString('hex'),
  };
  const wrappingKey = await hashPassword(key.password, salt, kdf);
  const bytes = encodeKeyFile(header, sealKey(wrappingKey, masterKey.bytes, associatedDataOf(header)));
  wrappingKey.fill(0);
  return { id: sha256(bytes), bytes };
}

/** Stores the master key in a new key file. Returns its id; the file is durable on return. */
export async function addKey(order: DurableOrder, key: NewKey, verify?: Verify): Promise<string> {
  const { id, bytes } = await sealNewKey(key);
  await order.publishFile(keyName(id), bytes, verify);
  try {
    // This process may have been suspended before the rename, and the keys may have changed since.
    await verify?.();
  } catch (error) {
    await order.remove([keyName(id)]);
    throw error;
  }
  return id;
}

/**
 * Removes key files, durably. If the lock was lost meanwhile, they are put back: another process may have relied on them
 * and removed others.
 */
async function removeKeyFiles({ backend, order }: KeyPlace, ids: readonly string[], verify: Verify): Promise<void> {
  for (const name of ids.map(keyName)) {
    const bytes = await readIfPossible(backend, name);
    await order.remove([name], verify);
    try {
      await verify();
    } catch (error) {
      if (bytes !== undefined) await order.publishFile(name, bytes);
      throw error;
    }
  }
}

/** A key file that cannot be read opens nothing, so it may be removed, and there is nothing to put back. */
async function readIfPossible(backend: Backend, name: string): Promise<Uint8Array | undefined> {
  try {
    return await backend.read(name);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

/** The user of a container may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}

/**
 * Removes a key file, so that its password opens nothing any more; durably gone on return. The caller holds the
 * exclusive lock, which `verify` checks: of two removals at a time each would rely on the key that the other removes.
 * @throws RefusedError if it is the last one with the role `full` that opens the repository, or does not exist
 */
export async function removeKey(place: KeyPlace, id: string, verify: Verify): Promise<void> {
  const { backend, repositoryId, epoch } = place;
  const { keys, unusable } = await listKeys(backend, repositoryId);
  if (![...keys, ...unusable].some((key) => key.id === id)) {
    throw new RefusedError(`the repository has no key ${id.slice(0, 8)}`, { advice: { code: 'list-keys' } });
  }
  if (!keys.some((key) => key.id !== id && key.role === 'full' && key.keyEpoch === epoch)) {
    throw new RefusedError(`${id.slice(0, 8)} is the last key with the role full; it was not removed`, {
      advice: { code: 'keep-another-key' },
    });
  }
  await removeKeyFiles(place, [id], verify);
}

/** Replaces the key files that a password has opened by new ones with another password. Returns the new ids. */
export async function changePassword(
  place: KeyPlace,
  opened: readonly OpenedKey[],
  change: Pick<NewKey, 'password' | 'created' | 'kdf'>,
  verify: Verify,
): Promise<string[]> {
  const { backend, order, repositoryId } = place;
  const ids: string[] = [];
  for (const { masterKey, role, label } of opened) {
    const id = await addKey(order, { ...change, repositoryId, masterKey, role, label }, verify);
    ids.push(id);
    const proof = { repositoryId, password: change.password, masterKey, only: [id] };
    if ((await findKeysOfPassword(backend, proof)).length > 0) continue;
    throw new CorruptDataError(`the new key ${id.slice(0, 8)} cannot be opened; the old password remains valid`);
  }
  // Only now: until the new ones are durable and have proved to work, the old ones are the only way in.
  await removeKeyFiles(
    place,
    opened.map(({ id }) => id),
    verify,
  );
  return ids;
}

import { timingSafeEqual } from 'node:crypto';
import type { Backend, BackendFile } from '../../backend/backend.ts';
import { readSurely } from '../../backend/sure-reading.ts';
import { hashPassword } from '../../crypto/argon2.ts';
import type { MasterKey } from '../../crypto/master-key.ts';
import { openKey } from '../../crypto/sealed-key.ts';
import { sha256 } from '../../crypto/sha256.ts';
import { CorruptDataError, UnsupportedFormatError, WrongPasswordError, isAbsent, isDamage } from '../../errors.ts';
import type { LdmError } from '../../errors.ts';
import { MAX_KEY_FILE_BYTES } from '../../format/constants.ts';
import { decodeKeyFile } from '../../format/key-file.ts';
import type { KeyFile, KeyHeader, KeyRole } from '../../format/key-file.ts';
import { KEYS_DIRECTORY, baseName } from '../../format/layout.ts';
import { noUsableKey, wrongPassword } from './key-errors.ts';
import { listOptional } from '../own-listing.ts';
import type { SealedConfig } from '../sealed-config.ts';
import { throwIfAborted } from '../../util/cancellation.ts';
import { prefetch } from '../../util/prefetch.ts';

/** A key file that cannot be used: it is damaged, belongs to another repository, or needs a newer program. */
export interface UnusableKey {
  readonly id: string;
  readonly error: LdmError;
}

/** A key file that can be used, without its secret. */
export interface ListedKey extends KeyHeader {
  /** 64 hex digits. */
  readonly id: string;
}

export interface KeyListing {
  /** The newest epoch first, and then by id. */
  readonly keys: readonly ListedKey[];
  readonly unusable: readonly UnusableKey[];
}

/** A master key that a password has opened. The caller fills its bytes with zeros after use. */
export interface OpenedKey {
  readonly id: string;
  readonly role: KeyRole;
  readonly label: string | undefined;
  readonly masterKey: MasterKey;
}

export interface Unlocked {
  /** The newest epoch first. Only one if it was to open the configuration. */
  readonly masterKeys: readonly MasterKey[];
  /** The key file that was opened, and its role; those of the newest epoch. */
  readonly keyId: string;
  readonly role: KeyRole;
  /** Everything that was opened, in the order of `masterKeys`. */
  readonly opened: readonly OpenedKey[];
}

export interface UnlockOptions {
  /** Only the master key that opens the configuration is returned: a rotation may have left others. */
  readonly config?: Pick<SealedConfig, 'epoch' | 'opensConfig'> | undefined;
  /** Id of the key file to try first, which saves time if it is the right one. */
  readonly first?: string | undefined;
  /** Called for each key file that cannot be used. */
  readonly onUnusable?: ((key: UnusableKey) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

type ReadKey = KeyFile & { readonly id: string };

/**
 * Opens the master key with a password, which is tried on one key file after the other: a quarter of a second each.
 * Without `config`, only one of each epoch is opened.
 * @throws WrongPasswordError if the password opens none, or only one of an earlier epoch than that of `config`
 * @throws CorruptDataError if there is no key file, or none is whole
 * @throws UnsupportedFormatError if all that are whole need a newer program
 */
export async function unlock(
  backend: Backend,
  repositoryId: string,
  password: Uint8Array,
  { config, first, onUnusable, signal }: UnlockOptions = {},
): Promise<Unlocked> {
  const { usable, unusable } = await readSomeKeys(backend, repositoryId, first);
  for (const key of unusable) onUnusable?.(key);
  if (usable.length === 0) throw noUsableKey(unusable.map(({ error }) => error));
  const opened: OpenedKey[] = [];
  // A key of another epoch does not open the configuration; it may be forged to cost time.
  const rankOf = ({ id, header }: ReadKey): number => (id === first ? 0 : header.keyEpoch === config?.epoch ? 1 : 2);
  for (const key of usable.toSorted((a, b) => rankOf(a) - rankOf(b) || costOf(a) - costOf(b))) {
    const { keyEpoch: epoch, role, label } = key.header;
    if (config === undefined && opened.some(({ masterKey }) => masterKey.epoch === epoch)) continue;
    throwIfAborted(signal);
    const bytes = await open(key, password);
    if (bytes === undefined) continue;
    const found: OpenedKey = { id: key.id, role, label, masterKey: { epoch, bytes } };
    opened.push(found);
    if (config?.opensConfig(found.masterKey) === true) return unlockedBy([found]);
  }
  if (opened.length === 0) throw wrongPassword(usable.length, unusable.length);
  if (config === undefined) return unlockedBy(opened.toSorted((a, b) => b.masterKey.epoch - a.masterKey.epoch));
  for (const { masterKey } of opened) masterKey.bytes.fill(0);
  throw otherKeysOnly(opened, config.epoch);
}

/** The cheapest first: a forged file may cost as much as the format permits. */
function costOf({ header: { kdf } }: ReadKey): number {
  return kdf.memoryKib * kdf.passes;
}

function unlockedBy(opened: readonly OpenedKey[]): Unlocked {
  const { id: keyId, role } = opened[0]!;
  return { masterKeys: opened.map(({ masterKey }) => masterKey), keyId, role, opened };
}

/** The password opens keys, but not the one that the configuration is sealed under. */
function otherKeysOnly(opened: readonly OpenedKey[], epoch: number): LdmError {
  const epochs = opened.map(({ masterKey }) => masterKey.epoch);
  if (epochs.every((each) => each < epoch)) {
    return new WrongPasswordError(
      `wrong password: its key is from before the last rotation of the master key (epoch ${Math.max(...epochs)}, now ${epoch})`,
      { hint: 'Nothing was changed. To use this password again, add it with one that still works.' },
    );
  }
  if (!epochs.includes(epoch)) {
    return new WrongPasswordError(
      `wrong password: its key is from a rotation of the master key that was interrupted (epoch ${Math.max(...epochs)}, now ${epoch})`,
      { hint: 'Give another password. If an older configuration was put back, restore the newer one.' },
    );
  }
  return new CorruptDataError('the password opens a key, but that key does not open the configuration', {
    hint: 'If the master key was rotated just now, run the command again. If another password was used for that, give that one. Else one of them was replaced: restore the file `config` from another copy of this repository.',
  });
}

async function open({ header, associatedData, sealed }: ReadKey, password: Uint8Array): Promise<Buffer | undefined> {
  const wrappingKey = await hashPassword(password, Buffer.from(header.salt, 'hex'), header.kdf);
  try {
    return openKey(wrappingKey, sealed, associatedData);
  } finally {
    wrappingKey.fill(0);
  }
}

/**
 * Returns the ids of the key files that have this master key and that the password opens. `only`: of these files. Takes a
 * quarter of a second for each.
 */
export async function findKeysOfPassword(
  backend: Backend,
  given: {
    readonly repositoryId: string;
    readonly password: Uint8Array;
    readonly masterKey: MasterKey;
    readonly only?: readonly string[];
    readonly signal?: AbortSignal | undefined;
  },
): Promise<string[]> {
  const { password, masterKey, only, signal } = given;
  const { usable } = await readKeys(backend, given.repositoryId);
  const ids: string[] = [];
  for (const key of usable) {
    if (key.header.keyEpoch !== masterKey.epoch || only?.includes(key.id) === false) continue;
    throwIfAborted(signal);
    const bytes = await open(key, password);
    if (bytes !== undefined && timingSafeEqual(bytes, masterKey.bytes)) ids.push(key.id);
  }
  return ids;
}

/** Returns the newest epoch above this one of which the password opens a key file; undefined if there is none. */
export async function newestEpochOf(
  backend: Backend,
  given: { readonly repositoryId: string; readonly password: Uint8Array; readonly above: number },
): Promise<number | undefined> {
  const { usable } = await readKeys(backend, given.repositoryId);
  for (const key of usable) {
    if (key.header.keyEpoch <= given.above) return undefined;
    const bytes = await open(key, given.password);
    bytes?.fill(0);
    if (bytes !== undefined) return key.header.keyEpoch;
  }
  return undefined;
}

/** Lists the key files, without a password. Their headers are as claimed: only the password shows whether they are true. */
export async function listKeys(backend: Backend, repositoryId: string): Promise<KeyListing> {
  const { usable, unusable } = await readKeys(backend, repositoryId);
  return { keys: usable.map(({ id, header }) => ({ id, ...header })), unusable };
}

/** A listing without any key is asked for once more: an answer may be damaged. */
async function readSomeKeys(...place: Parameters<typeof readKeys>): ReturnType<typeof readKeys> {
  const found = await readKeys(...place);
  return found.usable.length + found.unusable.length > 0 ? found : await readKeys(...place);
}

/** `first`: the id of the key file to read first, if it is there. */
async function readKeys(
  backend: Backend,
  repositoryId: string,
  first?: string,
): Promise<{ readonly usable: readonly ReadKey[]; readonly unusable: readonly UnusableKey[] }> {
  const usable: ReadKey[] = [];
  const unusable: UnusableKey[] = [];
  const files = await listOptional(backend, KEYS_DIRECTORY);
  const isLater = ({ name }: BackendFile): number => Number(baseName(name) !== first);
  const read = async (file: BackendFile): Promise<KeyFile> => readKey(backend, file, repositoryId);
  const sorted = files.toSorted((a, b) => isLater(a) - isLater(b));
  for await (const [{ name }, reading] of prefetch(sorted, backend.readsAtOnce, read)) {
    const id = baseName(name);
    try {
      usable.push({ id, ...(await reading) });
    } catch (error) {
      // Another process may have removed it since.
      if (isAbsent(error)) continue;
      if (!isDamage(error) && !(error instanceof UnsupportedFormatError)) throw error;
      unusable.push({ id, error });
    }
  }
  return { usable: usable.toSorted((a, b) => b.header.keyEpoch - a.header.keyEpoch), unusable };
}

async function readKey(backend: Backend, { name, sizeBytes }: BackendFile, repositoryId: string): Promise<KeyFile> {
  const bytes = await readSurely(backend, name, async (from) => {
    const bytesNow = from === backend ? sizeBytes : ((await from.sizeOf(name)) ?? 0);
    if (bytesNow > MAX_KEY_FILE_BYTES) {
      throw new CorruptDataError(`${name}: ${bytesNow} bytes, more than the limit of ${MAX_KEY_FILE_BYTES}`);
    }
    const read = await from.read(name);
    if (sha256(read) === baseName(name)) return read;
    throw new CorruptDataError(`${name}: its name is not the SHA-256 of its bytes`);
  });
  const key = decodeKeyFile(bytes, name);
  if (key.header.repositoryId === repositoryId) return key;
  throw new CorruptDataError(`${name}: belongs to the repository ${key.header.repositoryId}`);
}

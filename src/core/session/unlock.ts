import type { UnlockedRepositories } from '../repository/keys/unlocker.ts';
import { LdmError, NoPasswordError, RefusedError, WrongPasswordError } from '../errors.ts';
import { formsOf, typeablePassword } from '../repository/keys/password-forms.ts';
import type { UnlockOptions, Unlocked, UnusableKey } from '../repository/keys/key-files.ts';
import type { KeyStore } from '../repository/keys/key-store.ts';
import { Unlocker } from '../repository/keys/unlocker.ts';
import type { Caller } from './caller.ts';
import type { Access } from './permissions.ts';
import type { Remembering } from './repository-memory.ts';

/** Where the password of an encrypted repository comes from. */
export interface PasswordSource {
  /** Whether the user has named a source. If not, the user may be asked for it, and may mistype it. */
  readonly isConfigured: boolean;
  /** Whether the user has given it for this repository, and not for all. */
  readonly isForThisRepository?: boolean;
  /** Whether nothing may be changed in a repository that is not encrypted. Default: it is used where it is needed. */
  readonly meansEncryption?: boolean;
  /**
   * Returns the password. The caller fills it with zeros after use.
   * @throws NoPasswordError
   */
  read(): Promise<Uint8Array>;
  /** The same for a password that is not in use yet. A user who types it must type it twice. */
  readNew(): Promise<Uint8Array>;
}

/** What it takes to open an encrypted repository. */
export interface Unlocking extends Caller {
  readonly password?: PasswordSource | undefined;
}

/** There is a password for a repository that is not encrypted. */
export class NotEncryptedError extends LdmError {
  override readonly code: string = 'NOT_ENCRYPTED';
}

/** A password that is typed unseen may be mistyped. */
const ATTEMPTS = 3;

/**
 * Runs `use` with the password of the repository. If the user is asked for it, a wrong one may be typed again.
 * @throws NoPasswordError
 * @throws WrongPasswordError
 */
export async function withPassword<T>(
  { password: source, onNotice }: Unlocking,
  use: (password: Uint8Array) => Promise<T>,
): Promise<T> {
  if (source === undefined) throw new NoPasswordError('the repository is encrypted, and no password was given');
  for (let attempt = 1; ; attempt += 1) {
    const password = await source.read();
    try {
      return await useForms(password, use);
    } catch (error) {
      if (!(error instanceof WrongPasswordError) || source.isConfigured || attempt === ATTEMPTS) throw error;
      onNotice?.({ kind: 'wrong-password' });
    } finally {
      password.fill(0);
    }
  }
}

/** Runs `use` with one form of the password after the other, until one is right. */
async function useForms<T>(password: Uint8Array, use: (password: Uint8Array) => Promise<T>): Promise<T> {
  let first: WrongPasswordError | undefined;
  for (const form of formsOf(password)) {
    try {
      return await use(form);
    } catch (error) {
      if (!(error instanceof WrongPasswordError)) throw error;
      first ??= error;
    }
  }
  throw first!;
}

/**
 * Runs `use` with a new password.
 * @throws NoPasswordError if it cannot be typed
 */
export async function withNewPassword<T>(
  source: PasswordSource,
  use: (password: Uint8Array) => Promise<T>,
): Promise<T> {
  const password = await source.readNew();
  try {
    return await use(typeablePassword(password));
  } finally {
    password.fill(0);
  }
}

/** Reports each key file that cannot be used once. */
function unlockOptions({ signal, onNotice }: Caller): UnlockOptions {
  const reported = new Set<string>();
  const onUnusable = ({ id, error }: UnusableKey): void => {
    if (!reported.has(id)) onNotice?.({ kind: 'key-unusable', keyId: id, reason: error.message });
    reported.add(id);
  };
  return { signal, onUnusable };
}

/** Runs `use` with the master key that the password opens, and with the password. */
export async function withUnlocked<T>(
  context: Unlocking,
  store: KeyStore,
  use: (unlocked: Unlocked, password: Uint8Array) => Promise<T>,
): Promise<T> {
  if (context.progress !== undefined) context.progress.phase = 'unlocking';
  const options = unlockOptions(context);
  const { unlocked, password } = await withPassword(context, async (given) => ({
    unlocked: await store.unlock(given, options),
    password: Buffer.from(given),
  }));
  try {
    return await use(unlocked, password);
  } finally {
    password.fill(0);
    for (const { bytes } of unlocked.masterKeys) bytes.fill(0);
  }
}

/**
 * @param what - what is refused, to follow "may not"
 * @throws RefusedError
 */
export function assertFullRole({ keyId, role }: Unlocked, what: string): void {
  if (role === 'full') return;
  throw new RefusedError(`the key ${keyId.slice(0, 8)} has the role ${role} and may not ${what}`, {
    hint: 'Use the password of a key with the role full.',
  });
}

/**
 * For a repository that is not encrypted. A user who set a password relies on encryption: the repository may be the
 * wrong one, or may have been replaced. With a password that applies to all repositories, it can still be read: reading
 * reveals nothing.
 * @throws NotEncryptedError
 */
export function assertPasswordUsed(
  { password, backend, onNotice }: Unlocking & Pick<Remembering, 'backend'>,
  access: Access,
): void {
  if (password?.isConfigured !== true) return;
  const isReading = access === 'read' || access === 'list';
  if (password.isForThisRepository === true || (password.meansEncryption === true && !isReading)) {
    throw new NotEncryptedError(`${backend.location} is not encrypted, but a password was given for it`, {
      advice: { code: 'leave-password-out' },
    });
  }
  if (access === 'read' || access === 'add') onNotice?.({ kind: 'password-not-used' });
}

/**
 * What each source has opened, so that a command that opens a repository twice asks for its password once. Kept beside the
 * source, since a program that uses the library has made it and shares nothing else between its calls.
 */
const unlockedBy = new WeakMap<PasswordSource, UnlockedRepositories>();

/** Returns how to unlock an encrypted repository; undefined if there is no source of passwords. */
export function unlockerOf(context: Unlocking & Pick<Remembering, 'memory'>): Unlocker | undefined {
  const { password, memory } = context;
  if (password === undefined) return undefined;
  const firstOf = (place: string, repositoryId: string): string | undefined =>
    memory?.recall(place, repositoryId)?.keyId;
  const unlocked: UnlockedRepositories = unlockedBy.get(password) ?? new Map();
  unlockedBy.set(password, unlocked);
  return new Unlocker(async (use) => withPassword(context, use), { ...unlockOptions(context), firstOf, unlocked });
}

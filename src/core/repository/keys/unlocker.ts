import type { Backend } from '../../backend/backend.ts';
import { keepMasterKey } from '../../crypto/master-key.ts';
import type { KeptMasterKey } from '../../crypto/master-key.ts';
import type { KeyRole } from '../../format/key-file.ts';
import { unlock } from './key-files.ts';
import type { UnlockOptions } from './key-files.ts';
import type { SealedConfig } from '../sealed-config.ts';

/** The master keys of an encrypted repository that a password opens, and what its owner may do. */
interface UnlockedKeys {
  readonly masterKeys: readonly KeptMasterKey[];
  readonly role: KeyRole;
  /** The key file. */
  readonly keyId: string;
}

/** Unlocks an encrypted repository. */
export type Unlock = (backend: Backend, config: SealedConfig) => Promise<UnlockedKeys>;

/** Runs `use` with a password, and with another one if it was mistyped. */
type WithPassword = <T>(use: (password: Uint8Array) => Promise<T>) => Promise<T>;

/** What a password has opened, by repository id. */
export type UnlockedRepositories = Map<string, Promise<UnlockedKeys>>;

interface UnlockerOptions extends Omit<UnlockOptions, 'first'> {
  /** What the same password has opened before; new keys are added. */
  readonly unlocked?: UnlockedRepositories | undefined;
  /** Returns the id of the key file to try first, for a repository at this place. */
  readonly firstOf?: ((place: string, repositoryId: string) => string | undefined) | undefined;
}

/** Tries a password on each repository once: a quarter of a second for each key file. */
export class Unlocker {
  readonly #withPassword: WithPassword;
  readonly #options: UnlockerOptions;
  readonly #unlocked: UnlockedRepositories;

  constructor(withPassword: WithPassword, options: UnlockerOptions) {
    this.#withPassword = withPassword;
    this.#options = options;
    this.#unlocked = options.unlocked ?? new Map<string, Promise<UnlockedKeys>>();
  }

  /**
   * @throws NoPasswordError
   * @throws WrongPasswordError
   * @throws CorruptDataError if no key file can be used
   */
  readonly unlock: Unlock = async (backend, config) => {
    const { repositoryId } = config;
    const known = await this.#unlocked.get(repositoryId)?.catch(() => undefined);
    // The master key may have been rotated since.
    if (known?.masterKeys.some((key) => config.opensConfig(key)) === true) return known;
    const unlocking = this.#unlock(backend, config);
    this.#unlocked.set(repositoryId, unlocking);
    return await unlocking;
  };

  async #unlock(backend: Backend, config: SealedConfig): Promise<UnlockedKeys> {
    return await this.#withPassword(async (password) => {
      const { firstOf, signal, onUnusable } = this.#options;
      const first = firstOf?.(backend.location, config.repositoryId);
      const { masterKeys, role, keyId } = await unlock(backend, config.repositoryId, password, {
        signal,
        onUnusable,
        config,
        first,
      });
      return { masterKeys: masterKeys.map(keepMasterKey), role, keyId };
    });
  }
}

import type { Verify } from '../../backend/backend.ts';
import { keepMasterKey } from '../../crypto/master-key.ts';
import type { MasterKey } from '../../crypto/master-key.ts';
import { PLAIN } from '../../crypto/seals.ts';
import type { Seals } from '../../crypto/seals.ts';
import { RefusedError } from '../../errors.ts';
import { KEYS_DIRECTORY } from '../../format/layout.ts';
import { acquireAccess } from '../access.ts';
import type { AccessOptions } from '../access.ts';
import { openConfig } from '../config-file.ts';
import { DurableOrder } from '../durable-order.ts';
import { addKey, assertNewPassword, changePassword, removeKey } from './key-changes.ts';
import type { KeyPlace, NewKey } from './key-changes.ts';
import { listKeys, unlock } from './key-files.ts';
import { completeCopies, rotate } from './key-rotation.ts';
import type { Rotation } from './key-rotation.ts';
import type { KeyListing, OpenedKey, UnlockOptions, Unlocked } from './key-files.ts';
import type { LockMode } from '../locks/lock-name.ts';
import { placePacks } from '../groups/place-packs.ts';
import { readSealedConfig } from '../sealed-config.ts';
import type { SealedConfig } from '../sealed-config.ts';
import type { PlacedPacks } from '../groups/place-packs.ts';

/** What is the same for all keys that a command adds. */
type KeyDescription = Pick<NewKey, 'password' | 'role' | 'label' | 'created'>;

/** Changes to the keys, under a lock. Durable on return. Each first completes the copies of the configuration. */
export interface KeyChanges {
  list(): Promise<KeyListing>;
  /** Adds a key file for each master key. Returns their ids. */
  add(masterKeys: readonly MasterKey[], description: KeyDescription): Promise<string[]>;
  /** @throws RefusedError if no key with the role `full` would remain */
  remove(id: string): Promise<void>;
  /** Replaces opened keys by new ones with another password. Returns their ids. */
  changePassword(opened: readonly OpenedKey[], change: Pick<NewKey, 'password' | 'created'>): Promise<string[]>;
  /** Replaces the master key by a new one, sealed under this password. */
  rotate(opened: OpenedKey, given: Pick<NewKey, 'password' | 'created'>): Promise<Rotation>;
}

interface ChangeListeners {
  readonly onUnreleased: (error: unknown) => void;
  readonly onGroups: (placed: Pick<PlacedPacks, 'groups'>) => void;
  /** Called first, under the lock, if the change may remove keys, also from the copies in groups. */
  readonly permit: (placed: Pick<PlacedPacks, 'groups'>) => Promise<void>;
}

/** `opened`: keys that open the repository, as far as they are known. */
interface Change {
  readonly mode: LockMode;
  readonly opened: readonly OpenedKey[];
}

/** The keys of an encrypted repository. Nothing else of it is opened. */
export class KeyStore {
  readonly #access: Omit<AccessOptions, 'mode'>;
  readonly #config: SealedConfig;

  private constructor(access: Omit<AccessOptions, 'mode'>, config: SealedConfig) {
    this.#access = access;
    this.#config = config;
  }

  /** @throws RefusedError if the repository is not encrypted */
  static async open(access: Omit<AccessOptions, 'mode'>): Promise<KeyStore> {
    return new KeyStore(access, await readSealedConfig(access.backend));
  }

  /** 64 hex digits. */
  get repositoryId(): string {
    return this.#config.repositoryId;
  }

  async list(): Promise<KeyListing> {
    return await listKeys(this.#access.backend, this.repositoryId);
  }

  /** Epoch of the master key that opens the repository. */
  get epoch(): number {
    return this.#config.epoch;
  }

  /** Returns whether this master key opens the repository. */
  opensConfig(masterKey: MasterKey): boolean {
    return this.#config.opensConfig(masterKey);
  }

  /** @throws WrongPasswordError */
  async unlock(password: Uint8Array, options: UnlockOptions): Promise<Unlocked> {
    return await unlock(this.#access.backend, this.repositoryId, password, { ...options, config: this.#config });
  }

  /**
   * Runs `work` under a lock. `onUnreleased` is called with the reason if the lock cannot be released afterwards, and
   * `onGroups` with the groups to which the change was copied, if there are some.
   */
  async change<T>(
    { mode, opened }: Change,
    work: (changes: KeyChanges) => Promise<T>,
    { onUnreleased, onGroups, permit }: ChangeListeners,
  ): Promise<T> {
    const lock = await acquireAccess({ ...this.#access, mode });
    try {
      // Read again: it may have changed while this process waited for a password or the lock.
      const config = await readSealedConfig(this.#access.backend);
      const verify: Verify = async () => lock?.assertHeld();
      const seals = config.head.hasGroups ? await this.#sealsOf(config, opened) : undefined;
      const placed = await placePacks(this.#access.backend, { ...config.head, seals }, this.#access);
      try {
        if (mode === 'exclusive') await permit(placed);
        const result = await work(this.#changes(config, verify, opened));
        // What has changed is in the copies in groups, too, before it is reported. A key that was removed is not.
        await placed.groups?.copyMetadata?.(verify, mode === 'exclusive' ? [KEYS_DIRECTORY] : undefined);
        return result;
      } finally {
        onGroups(placed);
        await placed.closePlaced();
      }
    } finally {
      await lock?.release().catch(onUnreleased);
    }
  }

  /** Undefined if none of these keys opens the repository: one that did was replaced meanwhile, which `work` notices. */
  async #sealsOf(config: SealedConfig, opened: readonly OpenedKey[]): Promise<Seals | undefined> {
    const right = opened.find(({ masterKey }) => config.opensConfig(masterKey));
    if (right === undefined) return undefined;
    const { id: keyId, role, masterKey } = right;
    const masterKeys = [keepMasterKey({ ...masterKey, bytes: Buffer.from(masterKey.bytes) })];
    const { seals } = await openConfig(this.#access.backend, async () => ({ masterKeys, role, keyId }));
    return seals;
  }

  #changes(config: SealedConfig, verify: Verify, opened: readonly OpenedKey[]): KeyChanges {
    const { backend, signal } = this.#access;
    const order = new DurableOrder({ backend, seals: PLAIN });
    const { repositoryId, epoch } = config;
    const place: KeyPlace = { backend, order, repositoryId, epoch };
    const assertCurrent = (masterKeys: readonly MasterKey[]): void => {
      if (masterKeys.every((masterKey) => config.opensConfig(masterKey))) return;
      throw new RefusedError('the master key was rotated meanwhile; nothing was changed');
    };
    const assertNew = async (
      masterKeys: readonly MasterKey[],
      { password }: Pick<NewKey, 'password'>,
    ): Promise<void> => {
      assertCurrent(masterKeys);
      for (const masterKey of masterKeys)
        await assertNewPassword(backend, { password, masterKey, repositoryId, signal });
    };
    return {
      list: async () => this.list(),
      add: async (masterKeys, description) => {
        await assertNew(masterKeys, description);
        await completeCopies(place, masterKeys, verify);
        const ids: string[] = [];
        for (const masterKey of masterKeys)
          ids.push(await addKey(order, { ...description, masterKey, repositoryId }, verify));
        return ids;
      },
      remove: async (id) => {
        const masterKeys = opened.map(({ masterKey }) => masterKey);
        assertCurrent(masterKeys);
        await completeCopies(place, masterKeys, verify);
        await removeKey(place, id, verify);
      },
      changePassword: async (replaced, change) => {
        const masterKeys = replaced.map(({ masterKey }) => masterKey);
        await assertNew(masterKeys, change);
        await completeCopies(place, masterKeys, verify);
        return await changePassword(place, replaced, change, verify);
      },
      rotate: async (current, given) => {
        assertCurrent([current.masterKey]);
        return await rotate(place, current, given, verify);
      },
    };
  }
}

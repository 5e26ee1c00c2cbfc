import { RefusedError } from '../errors.ts';
import type { KeyRole } from '../format/key-file.ts';
import type { KeyListing } from '../repository/key-files.ts';
import { KeyStore } from '../repository/key-store.ts';
import type { KeyChanges } from '../repository/key-store.ts';
import { accessOptions } from './context.ts';
import type { OperationContext, PasswordSource } from './context.ts';
import { findKeys } from './keys/find-keys.ts';
import { assertFullRole, withNewPassword, withUnlocked } from './keys/unlock.ts';

export type { KeyListing, ListedKey, UnusableKey } from '../repository/key-files.ts';
export type { KeyRole } from '../format/key-file.ts';

export interface AddKeyOptions {
  readonly newPassword: PasswordSource;
  /** Default: full. */
  readonly role?: KeyRole;
  readonly label?: string;
}

/** Keys that were written, one for each epoch of the master key. */
export interface AddKeyResult {
  /** The newest epoch first. */
  readonly keyIds: readonly string[];
  readonly role: KeyRole;
  readonly label: string | undefined;
}

export interface ChangePasswordResult {
  readonly keyIds: readonly string[];
  readonly replacedIds: readonly string[];
}

/** Opens the keys of a repository, without a lock. */
export async function openKeys(context: OperationContext): Promise<KeyStore> {
  return await KeyStore.open(accessOptions(context, 'shared'));
}

/** Runs `work` under a lock. */
export async function changeKeys<T>(
  context: OperationContext,
  mode: 'shared' | 'exclusive',
  work: (changes: KeyChanges) => Promise<T>,
): Promise<T> {
  const store = await KeyStore.open(accessOptions(context, mode));
  return await store.change(mode, work, (error) =>
    context.onNotice?.({ kind: 'lock-not-released', reason: error instanceof Error ? error.message : String(error) }),
  );
}

/** Lists the keys. Needs no password, so what their owners claim about them is not verified. */
export async function listRepositoryKeys(context: OperationContext): Promise<KeyListing> {
  return await (await openKeys(context)).list();
}

/** Adds a password. */
export async function addRepositoryKey(context: OperationContext, options: AddKeyOptions): Promise<AddKeyResult> {
  const { newPassword, role = 'full', label } = options;
  return await withUnlocked(context, await openKeys(context), async (unlocked) => {
    assertFullRole(unlocked, 'add others');
    const keyIds = await withNewPassword(newPassword, async (password) =>
      changeKeys(context, 'shared', async (changes) =>
        changes.add(unlocked.masterKeys, { password, role, label, created: new Date().toISOString() }),
      ),
    );
    return { keyIds, role, label };
  });
}

/**
 * Removes keys, by the first digits of their ids. The key of the given password stays: it is the one that is known to
 * work. Returns the removed ids.
 */
export async function removeRepositoryKeys(context: OperationContext, starts: readonly string[]): Promise<string[]> {
  const store = await openKeys(context);
  const ids = findKeys(await store.list(), starts);
  return await withUnlocked(context, store, async (unlocked) => {
    assertFullRole(unlocked, 'remove others');
    const own = unlocked.opened.find(({ id }) => ids.includes(id));
    if (own !== undefined) {
      throw new RefusedError(`${own.id.slice(0, 8)} is the key of the password that was given; nothing was removed`, {
        advice: { code: 'keep-another-key' },
      });
    }
    await changeKeys(context, 'exclusive', async (changes) => {
      for (const id of ids) await changes.remove(id);
    });
    return ids;
  });
}

/** Replaces the given password by another one. Keys of other passwords stay as they are. */
export async function changeRepositoryPassword(
  context: OperationContext,
  { newPassword }: { readonly newPassword: PasswordSource },
): Promise<ChangePasswordResult> {
  return await withUnlocked(context, await openKeys(context), async ({ opened }) => {
    const replacedIds = opened.map(({ id }) => id);
    const keyIds = await withNewPassword(newPassword, async (password) =>
      changeKeys(context, 'exclusive', async (changes) => {
        await assertPresent(changes, replacedIds);
        return await changes.changePassword(opened, { password, created: new Date().toISOString() });
      }),
    );
    return { keyIds, replacedIds };
  });
}

/** Nobody may come back by a new password after others have removed the key. */
async function assertPresent(changes: KeyChanges, ids: readonly string[]): Promise<void> {
  const present = new Set((await changes.list()).keys.map(({ id }) => id));
  const gone = ids.find((id) => !present.has(id));
  if (gone !== undefined) throw new RefusedError(`the key ${gone.slice(0, 8)} was removed meanwhile`);
}

import { KEY_ROLES } from '../../core/format/key-file.ts';
import { assertArgument, assertArguments, assertContext, type OptionKinds } from '../../core/session/arguments.ts';
import { UsageError } from '../../core/errors.ts';
import { RefusedError } from '../../core/errors.ts';
import type { KeyRole } from '../../core/format/key-file.ts';
import type { KeyListing, OpenedKey } from '../../core/repository/keys/key-files.ts';
import { KeyStore } from '../../core/repository/keys/key-store.ts';
import type { KeyChanges } from '../../core/repository/keys/key-store.ts';
import { accessOptions } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { PasswordSource } from '../../core/session/unlock.ts';
import { assertNotReplaced, rememberEncrypted } from '../../core/session/repository-memory.ts';
import { assertFullRole, withNewPassword, withUnlocked } from '../../core/session/unlock.ts';
import { groupReporter } from '../../core/session/group-reporter.ts';
import { assertNotOlderThanGroups } from '../../core/session/newer-groups.ts';

export type { KeyListing, ListedKey, UnusableKey } from '../../core/repository/keys/key-files.ts';
export type { KeyRole } from '../../core/format/key-file.ts';

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
  assertContext(context);
  const store = await KeyStore.open(accessOptions(context, 'shared'));
  rememberEncrypted(context, store);
  return store;
}

/**
 * Runs `work` under a lock. `opened`: the keys of the given password. They must still be there: a user whose key was
 * removed meanwhile must not add a key or remove others.
 */
export async function changeKeys<T>(
  context: OperationContext,
  { mode, opened }: { readonly mode: 'shared' | 'exclusive'; readonly opened: readonly OpenedKey[] },
  work: (changes: KeyChanges) => Promise<T>,
): Promise<T> {
  const store = await KeyStore.open(accessOptions(context, mode));
  const { repositoryId, epoch } = store;
  assertNotReplaced(context, { repositoryId, isEncrypted: true, epoch });
  const workUnlessRemoved = async (changes: KeyChanges): Promise<T> => {
    await assertPresent(changes, opened);
    return await work(changes);
  };
  return await store.change({ mode, opened }, workUnlessRemoved, {
    permit: async (placed) => {
      if ((context.acceptsOlderState ?? false) === false) await assertNotOlderThanGroups(placed);
    },
    onUnreleased: (error) =>
      context.onNotice?.({ kind: 'lock-not-released', reason: error instanceof Error ? error.message : String(error) }),
    // A key that was removed is still in a group that cannot be reached.
    onGroups: (placed) => groupReporter(placed, context.onNotice)(),
  });
}

async function assertPresent(changes: KeyChanges, opened: readonly { readonly id: string }[]): Promise<void> {
  const present = new Set((await changes.list()).keys.map(({ id }) => id));
  const gone = opened.find(({ id }) => !present.has(id));
  if (gone === undefined) return;
  throw new RefusedError(`the key ${gone.id.slice(0, 8)} was removed meanwhile; nothing was changed`, {
    hint: 'Somebody has removed this password or rotated the master key.',
  });
}

/** Lists the keys. Needs no password, so what their owners claim about them is not verified. */
export async function listRepositoryKeys(context: OperationContext): Promise<KeyListing> {
  return await (await openKeys(context)).list();
}

export const NEW_KEY_KINDS: OptionKinds<Required<AddKeyOptions>> = {
  newPassword: 'password!',
  role: KEY_ROLES,
  label: 'text',
};

/** Adds a password. */
export async function addRepositoryKey(context: OperationContext, options: AddKeyOptions): Promise<AddKeyResult> {
  assertArguments<AddKeyOptions>(context, options, NEW_KEY_KINDS);
  const { newPassword, role = 'full', label } = options;
  return await withUnlocked(context, await openKeys(context), async (unlocked) => {
    assertFullRole(unlocked, 'add others');
    const keyIds = await withNewPassword(newPassword, async (password) =>
      changeKeys(context, { mode: 'shared', opened: unlocked.opened }, async (changes) =>
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
  assertArgument('starts', starts, 'texts!');
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
    await changeKeys(context, { mode: 'exclusive', opened: unlocked.opened }, async (changes) => {
      for (const id of ids) await changes.remove(id);
    });
    return ids;
  });
}

/** Replaces the given password by another one. Keys of other passwords stay as they are. */
export async function changeRepositoryPassword(
  context: OperationContext,
  options: Pick<AddKeyOptions, 'newPassword'>,
): Promise<ChangePasswordResult> {
  assertArguments<Pick<AddKeyOptions, 'newPassword'>>(context, options, { newPassword: 'password!' });
  const { newPassword } = options;
  return await withUnlocked(context, await openKeys(context), async ({ opened }) => {
    const replacedIds = opened.map(({ id }) => id);
    const keyIds = await withNewPassword(newPassword, async (password) =>
      changeKeys(context, { mode: 'exclusive', opened }, async (changes) =>
        changes.changePassword(opened, { password, created: new Date().toISOString() }),
      ),
    );
    return { keyIds, replacedIds };
  });
}

const ID_START = /^[0-9a-f]{4,64}$/;

/**
 * Finds keys by the first digits of their ids, at least four. Keys that cannot be used have ids too.
 * @throws UsageError
 * @throws RefusedError
 */
function findKeys({ keys, unusable }: KeyListing, starts: readonly string[]): string[] {
  const ids = [...keys, ...unusable].map(({ id }) => id);
  return [...new Set(starts.map((start) => findKey(ids, start)))];
}

function findKey(ids: readonly string[], start: string): string {
  if (!ID_START.test(start)) {
    throw new UsageError(`${JSON.stringify(start)} is not the id of a key`, { advice: { code: 'list-keys' } });
  }
  const matching = ids.filter((id) => id.startsWith(start));
  if (matching.length === 1) return matching[0]!;
  const problem =
    matching.length === 0
      ? `the repository has no key ${start}`
      : `${start} could be any of ${matching.length} keys: ${matching.map((id) => id.slice(0, 16)).join(', ')}`;
  throw new RefusedError(problem, { advice: { code: 'list-keys' } });
}

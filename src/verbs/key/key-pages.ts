import { assertArguments } from '../../core/session/arguments.ts';
import { RefusedError, WrongPasswordError } from '../../core/errors.ts';
import { decodeKeyPage, encodeKeyLines } from '../../core/format/key-page.ts';
import type { KeyPage } from '../../core/format/key-page.ts';
import type { KeyStore } from '../../core/repository/keys/key-store.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { changeKeys, NEW_KEY_KINDS, openKeys } from './keys.ts';
import type { AddKeyOptions, AddKeyResult } from './keys.ts';
import { assertFullRole, withNewPassword, withUnlocked } from '../../core/session/unlock.ts';

export interface ExportKeysResult {
  readonly repositoryId: string;
  readonly location: string;
  /** RFC 3339. */
  readonly exported: string;
  /** Epochs of the exported master keys, newest first. */
  readonly epochs: readonly number[];
  /** The lines with the keys. Secret. */
  readonly lines: readonly string[];
}

export interface TestPageResult {
  readonly repositoryId: string;
  readonly epochs: readonly number[];
}

/** Returns the master keys as lines to be printed. They open the repository without a password. */
export async function exportKeys(context: OperationContext): Promise<ExportKeysResult> {
  const store = await openKeys(context);
  return await withUnlocked(context, store, async (unlocked) => {
    assertFullRole(unlocked, 'export the master key');
    const { repositoryId } = store;
    return {
      repositoryId,
      location: context.backend.location,
      exported: new Date().toISOString(),
      epochs: unlocked.masterKeys.map(({ epoch }) => epoch),
      lines: encodeKeyLines(unlocked.masterKeys, repositoryId),
    };
  });
}

/**
 * Writes new key files from an exported page, also if all others are lost.
 * @throws UsageError if the page has a typing error
 * @throws WrongPasswordError if it does not open the repository
 */
export async function importKeys(
  context: OperationContext,
  options: AddKeyOptions & { readonly page: string },
): Promise<AddKeyResult> {
  assertArguments<AddKeyOptions & { readonly page: string }>(context, options, { ...NEW_KEY_KINDS, page: 'anyText!' });
  const { page, newPassword, role = 'full', label } = options;
  const store = await openKeys(context);
  const { keys } = checkedPage(store, page);
  const current = keys.filter((key) => store.opensConfig(key));
  try {
    const keyIds = await withNewPassword(newPassword, async (password) =>
      changeKeys(context, { mode: 'shared', opened: [] }, async (changes) =>
        changes.add(current, { password, role, label, created: new Date().toISOString() }),
      ),
    );
    return { keyIds, role, label };
  } finally {
    for (const { bytes } of keys) bytes.fill(0);
  }
}

/** Proves that an exported page opens the repository. Changes nothing. Throws as `importKeys` does. */
export async function testKeyPage(
  context: OperationContext,
  options: { readonly page: string },
): Promise<TestPageResult> {
  assertArguments<{ readonly page: string }>(context, options, { page: 'anyText!' });
  const store = await openKeys(context);
  const { keys } = checkedPage(store, options.page);
  for (const { bytes } of keys) bytes.fill(0);
  return { repositoryId: store.repositoryId, epochs: keys.map(({ epoch }) => epoch) };
}

function checkedPage(store: KeyStore, text: string): KeyPage {
  const page = decodeKeyPage(text);
  const { repositoryId } = store;
  if (!repositoryId.startsWith(page.repositoryStart)) {
    const ids = `${page.repositoryStart}..., this is ${repositoryId.slice(0, 10)}`;
    throw new RefusedError(`the page belongs to another repository: its id begins with ${ids}`);
  }
  if (page.keys.some((key) => store.opensConfig(key))) return page;
  const epoch = Math.max(...page.keys.map((key) => key.epoch));
  if (epoch < store.epoch) {
    throw new WrongPasswordError(
      `the page is from before the last rotation of the master key (epoch ${epoch}, now ${store.epoch})`,
      { hint: 'It no longer opens the repository. Export a new page, which needs a password of the repository.' },
    );
  }
  throw new WrongPasswordError('the master key on this page does not open the repository');
}
